package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lkeplan/lkeplan/examples/guidetest"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestGuides runs the commands in the READMEs of the examples that need no cluster. The
// end-to-end tests run the others. -update writes the output into the READMEs.
func TestGuides(t *testing.T) {
	const examples = "../../examples"
	guides, err := filepath.Glob(examples + "/*/README.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, guide := range guides {
		name := filepath.Base(filepath.Dir(guide))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guidetest.Runner{
				Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"},
				Update: golden.Updating(),
			}.Run(t, examples, name)
		})
	}
}
