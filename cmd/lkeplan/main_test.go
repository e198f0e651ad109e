package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lkeplan/lkeplan/e2e/ci"
)

// update rewrites what scripts compare with, as in all packages.
var update = flag.Bool("update", false, "rewrite golden files with what comes out")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lkeplan": main,
		"gh":      func() { os.Exit(ci.GH(os.Args[1:], os.Stdout, os.Stderr)) },
	})
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
