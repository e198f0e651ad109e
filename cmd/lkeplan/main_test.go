package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lkeplan": checked})
}

// checkShared is set where a program is to fail that has written into what objects share.
const checkShared = "LKEPLAN_TEST_CHECK_SHARED"

// checked is the program, and a look at what objects of it share.
func checked() {
	code := program()
	if validator, err := kube.BuiltinValidator(); err == nil && os.Getenv(checkShared) != "" {
		for _, value := range validator.Altered() {
			fmt.Fprintf(os.Stderr, "somebody has written into what objects share: %v\n", value)
			code = 99
		}
	}
	os.Exit(code)
}

// shared has each program of a script checked.
func shared(env *testscript.Env) error {
	env.Setenv(checkShared, "yes")
	return nil
}

// TestScripts runs the scripts of the command line: each is a directory and
// what is typed in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup:               shared,
	})
}
