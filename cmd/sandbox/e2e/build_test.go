package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs are built together, when the first of them is needed.
type programs struct {
	build func() error // into dir, once
	dir   string       // empty before they are built
}

// ofWorkingTree are lkeplan, the controller and the sandbox, each built with the go.mod that a release is built with: that
// of the sandbox requires more, and may choose other versions.
func ofWorkingTree() *programs {
	p := &programs{}
	p.build = sync.OnceValue(func() error {
		root, err := repositoryRoot()
		if err != nil {
			return err
		}
		if p.dir, err = os.MkdirTemp("", "lkeplan-programs-"); err != nil {
			return err
		}
		if err = goBuild(root, p.dir, "./cmd/lkeplan", "./cmd/controller"); err == nil {
			err = goBuild(filepath.Join(root, "cmd", "sandbox"), p.dir, ".")
		}
		return err
	})
	return p
}

// path returns the path of a program; nothing else is in its directory but the
// programs of the set. The test fails if they cannot be built.
func (p *programs) path(t testing.TB, name string) string {
	t.Helper()
	if err := p.build(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(p.dir, name)
}

// remove removes the programs, after all tests.
func (p *programs) remove() {
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// goBuild builds packages, which come after more flags, of the module in a directory. Without symbols, which no test reads, a program is linked in two
// thirds of the time.
func goBuild(module, to string, arguments ...string) error {
	_, err := output("go", append([]string{"build", "-C", module, "-ldflags=-s -w", "-o",
		to + string(filepath.Separator)}, arguments...)...)
	return err
}

// repositoryRoot returns the root of the working tree, where the product's go.mod is.
func repositoryRoot() (string, error) {
	return output("go", "list", "-m", "-f", "{{.Dir}}", "github.com/lkeplan/lkeplan")
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
