package ci

import (
	"fmt"
	"os"
	"path/filepath"
)

// Install writes a program go into a directory, which puts the lkeplan of a test
// in the place of the one that "go install" would build, and notes in the file
// asked what it was asked for and where. It is the one program that is not what
// it is called: the version that a workflow names is not published while it is
// tested.
func Install(dir, lkeplan string) (asked string, err error) {
	asked = filepath.Join(dir, "asked")
	script := fmt.Sprintf(`#!/bin/sh
echo "$* in $PWD" >> '%s'
mkdir -p "$GOBIN" && ln -sf '%s' "$GOBIN/lkeplan"
`, asked, lkeplan)
	return asked, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)
}
