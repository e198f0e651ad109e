package ci_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lkeplan/lkeplan/cmd/sandbox/e2e/ci"
	"github.com/lkeplan/lkeplan/cmd/sandbox/e2e/programs"
)

// built is what the workflows and jobs of the examples install.
var built = programs.Of("lkeplan")

// TestMain puts a program gh into the PATH, which is this test binary.
func TestMain(m *testing.M) {
	testscript.Main(tests(func() int { defer built.Remove(); return m.Run() }), map[string]func(){
		"gh": func() { os.Exit(ci.GH(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// tests is a run of tests, as testscript.Main takes it.
type tests func() int

func (run tests) Run() int { return run() }
