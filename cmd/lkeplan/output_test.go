package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

// TestDiffIsDeterministic compiles and compares fifty times in one process: Go iterates over
// maps in a different order each time.
func TestDiffIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	for name, hours := range map[string]int{"base": 720, "head": 336} {
		text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n"
		for i := range 6 {
			text += fmt.Sprintf("\npool \"web%d\" {\n  node_class = node_class.default\n  requirements = { arch = \"amd64\", cpu = between(4, 8), class = \"standard\" }\n  limits = { cpu = 100, memory = \"%dGi\" }\n  labels = { a = \"1\", b = \"%d\" }\n  expire_after = \"%dh\"\n}\n", i, hours, hours, hours)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "main.lke.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{
		"diff", "--base", "dir:" + filepath.Join(dir, "base"), "--at", "2026-11-20T10:00:00Z",
		"-o", "json", "--out", "text=-", "--out", "html=-", "--out", "gitlab-codequality=-", filepath.Join(dir, "head"),
	}
	var first string
	for i := range 50 {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &env{Stdin: &out, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		if i == 0 {
			first = out.String()
		}
		if diff := cmp.Diff(first, out.String()); diff != "" {
			t.Fatalf("run %d (-first +this)\n%s", i, diff)
		}
	}
	if len(first) < 10_000 {
		t.Errorf("there is nothing to compare: %s", first)
	}
}

// TestFindingsAreAligned: also those that are wider than the terminal.
func TestFindingsAreAligned(t *testing.T) {
	p := diag.Page{Width: 60}
	writeFindings(&p, []inspect.Finding{{Level: inspect.LevelOK, Of: "API server", Text: "v1.36"}, {Level: inspect.LevelWarn, Of: "controller",
		Text: "it has not reported for ten minutes, although its Deployment has a ready replica", Do: "read its log"}})
	const want = "ok    API server: v1.36\nwarn  controller: it has not reported for ten minutes,\n" +
		"        | although its Deployment has a ready replica\n      -> read its log\n"
	if p.String() != want {
		t.Errorf("%s, want\n%s", &p, want)
	}
}
