package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDetailedExitCode: the exit code is 2 if there are changes, and only then.
func TestDetailedExitCode(t *testing.T) {
	dir := t.TempDir()
	for name, weight := range map[string]string{"a": "1", "b": "2"} {
		text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n\npool \"web\" {\n  node_class = node_class.default\n  requirements = {}\n  weight = " + weight + "\n}\n"
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "main.lke.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"diff", "--base", "dir:" + a, b}, 0},
		{[]string{"diff", "--base", "dir:" + a, "--detailed-exitcode", b}, 2},
		{[]string{"diff", "--base", "dir:" + a, "--detailed-exitcode", a}, 0},
		{[]string{"diff", "--base", "dir:" + dir + "/none", "--detailed-exitcode", a}, 1},
	} {
		var out bytes.Buffer
		env := &env{Stdin: &out, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
		if got := run(t.Context(), tt.args, env); got != tt.want {
			t.Errorf("%v exits with %d, want %d:\n%s", tt.args, got, tt.want, out.String())
		}
	}
}
