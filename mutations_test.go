package lkeplan_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
func TestMutations(t *testing.T) {
	all := readMutations(t)
	if len(all) < 50 {
		t.Errorf("there are %d mutations", len(all))
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
			if *mutate == "" || *mutate != "." && !strings.Contains(t.Name(), *mutate) {
				return
			}
			if out, found := m.try(t, strings.Replace(string(text), m.old, m.new, 1)); !found {
				t.Errorf("no test finds it:\n-%s+%s%s", m.old, m.new, out)
			} else {
				t.Logf("found by %s", out)
			}
		})
	}
}

// try runs the tests with another text of the file, and reports whether they fail. A text that
// does not compile is a mistake in the table.
func (m mutation) try(t *testing.T, text string) (out string, found bool) {
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
	run := func(args ...string) ([]byte, error) {
		return exec.Command("go", append([]string{"test", "-overlay", overlay}, args...)...).CombinedOutput()
	}
	if out, err := run(append([]string{"-run", "^$"}, m.tests...)...); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	said, err := run(append([]string{"-failfast", "-timeout", "5m"}, m.tests...)...)
	var failed []string
	for line := range bytes.Lines(said) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "--- FAIL: "); ok {
			failed = append(failed, name)
		}
	}
	return fmt.Sprint(strings.Join(failed, ", ")), err != nil
}
