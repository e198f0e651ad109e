package lkeplan_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine"
)

// TestExamples compiles and validates every directory below examples that has
// configuration files, and holds the files to the canonical format.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("examples/*/*.lke.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	directories := map[string]bool{}
	for _, file := range files {
		directories[filepath.Dir(file)] = true
	}
	for dir := range directories {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			compiles(t, os.DirFS(dir))
			formatted(t, os.DirFS(dir))
		})
	}
}

func compiles(t *testing.T, fsys fs.FS) {
	compiled, diags := engine.Compile(context.Background(), fsys, engine.CompileOptions{})
	if len(diags) > 0 {
		var text bytes.Buffer
		if err := diag.Text(&text, diag.New(diags, compiled.Files), false); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s", text.String())
	}
	if len(compiled.Resources) == 0 {
		t.Error("compiles to nothing")
	}
}

func formatted(t *testing.T, fsys fs.FS) {
	names, err := fs.Glob(fsys, "*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(src, hclwrite.Format(src)) {
			t.Errorf("%s is not in the canonical format", name)
		}
	}
}
