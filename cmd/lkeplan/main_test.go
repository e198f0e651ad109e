package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// update rewrites what scripts compare with, as in all packages.
var update = flag.Bool("update", false, "rewrite golden files with what comes out")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lkeplan": main})
}

// TestScripts runs the scripts of the command line: each is a directory and
// what is typed in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
	})
}
