// Package programs builds the programs of this repository for tests that run them:
// from the working tree, each in its own module. It knows nothing of what the tests do.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Set is programs that are built together, when the first of them is needed.
type Set struct {
	build func() (bin string, err error)
	dir   string // of all that was written; empty before it is
}

// Of returns the set of the programs with these names: lkeplan, controller or sandbox.
func Of(names ...string) *Set {
	s := &Set{}
	s.build = s.once(func(dir string) (string, error) { return dir, build(dir, names) })
	return s
}

// once has a directory filled once, and returns which of its directories the programs are
// in.
func (s *Set) once(fill func(dir string) (bin string, err error)) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		var err error
		if s.dir, err = os.MkdirTemp("", "lkeplan-programs-"); err != nil {
			return "", err
		}
		return fill(s.dir)
	})
}

// Path returns the path of a program; nothing else is in its directory but the
// programs of the set. The test fails where they cannot be built.
func (s *Set) Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := s.build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Remove removes the programs, after all tests.
func (s *Set) Remove() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// stripped has a program linked in two thirds of the time; no test reads its symbols.
const stripped = "-ldflags=-s -w"

// build builds with the go.mod that a release is built with: that of the sandbox
// requires more, and may choose other versions.
func build(dir string, names []string) error {
	root, err := Repository()
	if err != nil {
		return err
	}
	own := []string{"build", "-C", root, stripped, "-o", dir + string(filepath.Separator)}
	for _, name := range names {
		if name != "sandbox" {
			own = append(own, "./cmd/"+name)
		}
	}
	if _, err := run(own...); err != nil {
		return err
	}
	if slices.Contains(names, "sandbox") {
		_, err = run("build", "-C", filepath.Join(root, "cmd", "sandbox"), stripped, "-o",
			dir+string(filepath.Separator), ".")
	}
	return err
}

// Repository returns the root of the working tree, where the product's go.mod is.
func Repository() (string, error) {
	return run("list", "-m", "-f", "{{.Dir}}", "github.com/lkeplan/lkeplan")
}

func run(args ...string) (string, error) {
	var stderr strings.Builder
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
