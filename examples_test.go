package lkeplan_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine"
)

// TestExamples compiles and validates every directory below examples that
// names a cluster, and holds all files to the canonical format.
func TestExamples(t *testing.T) {
	examples := os.DirFS("examples")
	clusters := 0
	err := fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".hcl" {
			return err
		}
		src, err := fs.ReadFile(examples, name)
		if err != nil {
			return err
		}
		if !bytes.Equal(src, hclwrite.Format(src)) {
			t.Errorf("%s is not in the canonical format", name)
		}
		if bytes.HasPrefix(src, []byte("cluster {")) || bytes.Contains(src, []byte("\ncluster {")) {
			clusters++
			t.Run(path.Dir(name), func(t *testing.T) { compiles(t, examples, path.Dir(name)) })
		}
		return nil
	})
	if err != nil || clusters == 0 {
		t.Fatalf("no examples: %v", err)
	}
}

func compiles(t *testing.T, fsys fs.FS, dir string) {
	opts := engine.CompileOptions{Options: config.Options{Dir: dir, Version: "0.3.0"}}
	compiled, diags := engine.Compile(context.Background(), fsys, opts)
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
