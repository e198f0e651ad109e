package ci

import (
	"fmt"
	"os"
	"path/filepath"
)

// Install writes a fake program go into a directory. In place of "go install" it links
// the lkeplan of the test, and appends its arguments and working directory to the file
// asked. It is the only fake besides gh: the version that a workflow names is not
// published while it is tested.
func Install(dir, lkeplan string) (asked string, err error) {
	asked = filepath.Join(dir, "asked")
	script := fmt.Sprintf(`#!/bin/sh
echo "$* in $PWD" >> '%s'
mkdir -p "$GOBIN" && ln -sf '%s' "$GOBIN/lkeplan"
`, asked, lkeplan)
	return asked, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)
}
