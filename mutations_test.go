package lkeplan_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var mutate = flag.String("mutate", "", "try the mutations whose name has this in it; all of them with \".\"")

// mutation is a bug that the tests of a package must find.
type mutation struct {
	name     string
	file     string // of the repository
	tests    []string
	old, new string
}

// readMutations reads testdata/mutations.txt: blocks with a line "== FILE: what is wrong", if
// need be a line "tests: PACKAGE ...", and lines to be replaced, as in a diff.
func readMutations(t *testing.T) (all []mutation) {
	t.Helper()
	text, err := os.ReadFile("testdata/mutations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq("\n"+string(text), "\n== ") {
		heading, lines, _ := strings.Cut(block, "\n")
		file, what, ok := strings.Cut(heading, ": ")
		if !ok {
			continue // what the file says of itself
		}
		m := mutation{name: what, file: file, tests: []string{"./" + filepath.Dir(file)}}
		for line := range strings.Lines(lines) {
			switch sign, rest := line[:1], line[1:]; {
			case sign == "-":
				m.old += rest
			case sign == "+":
				m.new += rest
			case strings.HasPrefix(line, "tests: "):
				m.tests = strings.Fields(line)[1:]
			}
		}
		all = append(all, m)
	}
	return all
}

// TestMutations: the table is about the code as it is, and with -mutate the tests find each
// of its bugs. They are built into a copy of the file, and the working tree stays as it is.
// With -v it prints which test finds which.
func TestMutations(t *testing.T) {
	all := readMutations(t)
	if len(all) < 50 {
		t.Errorf("there are %d mutations", len(all))
	}
	if *mutate == "" && nightly.On() {
		*mutate = "."
	}
	tried, pkgs := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		name := m.file + ": " + m.name
		if *mutate == "" || *mutate != "." && !strings.Contains(name, *mutate) {
			continue
		}
		tried[name] = true
		for _, pkg := range m.tests {
			pkgs[pkg] = true
		}
	}
	if len(pkgs) > 0 {
		if out, err := test(slices.Sorted(maps.Keys(pkgs))...); err != nil {
			t.Fatalf("the tests fail without a mutation:\n%s", out)
		}
	}
	for _, m := range all {
		t.Run(m.file+": "+m.name, func(t *testing.T) {
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 || m.old == "" || m.old == m.new {
				t.Fatalf("the lines to be replaced are %d times in the file; bring the table up to date:\n%s", n, m.old)
			}
			if !tried[m.file+": "+m.name] {
				return
			}
			t.Parallel()
			if by := m.try(t, strings.Replace(string(text), m.old, m.new, 1)); len(by) == 0 {
				t.Errorf("no test finds it:\n-%s+%s", m.old, m.new)
			} else {
				t.Logf("found by %s", strings.Join(by, ", "))
			}
		})
	}
}

// try runs the tests with another text of the file, and returns which of them fail.
// A text that does not compile is a mistake in the table.
func (m mutation) try(t *testing.T, text string) (by []string) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): mutant}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(os.WriteFile(mutant, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := test(append([]string{"-overlay", overlay}, m.tests...)...)
	if err == nil {
		return nil
	}
	for line := range strings.Lines(out) {
		if failed, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ := strings.Cut(failed, " ")
			if n := len(by); n > 0 && strings.HasPrefix(name, by[n-1]+"/") {
				by = by[:n-1] // the test of this case
			}
			by = append(by, name)
		} else if strings.HasPrefix(line, "panic: ") {
			by = append(by, strings.TrimSpace(line))
		}
	}
	if len(by) == 0 {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	return by
}

// test runs go test until the first test fails, without the long runs of make nightly.
func test(args ...string) (out string, err error) {
	cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast", "-timeout", "5m"}, args...)...)
	cmd.Env = append(os.Environ(), "LKEPLAN_NIGHTLY=")
	raw, err := cmd.CombinedOutput()
	return string(raw), err
}
