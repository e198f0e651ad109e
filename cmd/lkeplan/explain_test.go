package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestReference compares schemas/reference.md with the program. -update and make
// generate write it.
func TestReference(t *testing.T) {
	const file = "../../schemas/reference.md"
	var got bytes.Buffer
	if code := run(t.Context(), []string{"explain", "-o", "markdown"}, &env{Stdout: &got, Stderr: os.Stderr, Getenv: os.Getenv}); code != 0 {
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
