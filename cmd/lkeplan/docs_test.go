package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestReference compares schemas/reference.md with the program. -update and make
// generate write it.
func TestReference(t *testing.T) {
	const file = "../../schemas/reference.md"
	var got bytes.Buffer
	if code := run(t.Context(), []string{"docs"}, &env{Stdout: &got, Stderr: os.Stderr, Getenv: os.Getenv}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if golden.Updating() {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the table has changed; run make generate (-file +table)\n%s", diff)
	}
}

// TestRenameStepsCompile: each step that explain prints compiles, together with its node class.
func TestRenameStepsCompile(t *testing.T) {
	const cluster = "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n\n"
	_, steps, _ := strings.Cut(renameSteps, "\n\n1. ")
	var blocks []string
	for part := range strings.SplitSeq(steps, "\n\n") {
		if block, ok := strings.CutPrefix(part, "     "); ok {
			blocks = append(blocks, block)
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, src := range []string{blocks[0] + "\n" + blocks[1], blocks[1] + "\n" + blocks[2], blocks[1] + "\n" + blocks[3]} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(cluster+src), 0o600); err != nil {
			t.Fatal(err)
		}
		lkeplan(t, "validate", dir)
	}
}
