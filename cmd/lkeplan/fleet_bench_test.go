package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// eight is a repository of eight clusters of 60 pools. A module that all of them call has
// changed.
func eight(b *testing.B) {
	b.Helper()
	dir := b.TempDir()
	write := func(name, text string) {
		b.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	module := func(hours int) string {
		return fmt.Sprintf("variable \"node_class\" {\n  type = any\n}\n\npool \"web\" {\n  node_class   = var.node_class\n  requirements = { cpu = 8 }\n  limits       = { cpu = 100 }\n  expire_after = \"%dh\"\n}\n", hours)
	}
	write("modules/team/main.lke.hcl", module(720))
	for c := range 8 {
		var text strings.Builder
		fmt.Fprintf(&text, "cluster {\n  name   = \"c%d\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n\nmodule \"team\" {\n  source     = \"../../modules/team\"\n  node_class = node_class.default\n}\n", c)
		for p := range 59 {
			fmt.Fprintf(&text, "\npool \"p%02d\" {\n  node_class   = node_class.default\n  requirements = { class = \"standard\", cpu = between(4, 16) }\n  limits       = { cpu = 100, memory = \"400Gi\" }\n  labels       = { team = \"t%d\" }\n\n  disruption {\n    consolidate_after = \"5m\"\n\n    budget {\n      nodes = \"10%%\"\n    }\n  }\n}\n", p, p)
		}
		write(fmt.Sprintf("clusters/c%d/main.lke.hcl", c), text.String())
	}
	b.Chdir(dir)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "one"}, {"checkout", "-qb", "change"}} {
		args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("modules/team/main.lke.hcl", module(336))
}

// BenchmarkDiffOfEightClusters compares eight clusters of 60 pools with Git: all of them after
// a module has changed, which takes 2.2 s of CPU time, 1.1 s on each of two cores; and one
// cluster if the change does not affect the others.
func BenchmarkDiffOfEightClusters(b *testing.B) {
	eight(b)
	diff := func(b *testing.B, want string) {
		for b.Loop() {
			var out bytes.Buffer
			env := &env{Stdin: &out, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
			if code := run(b.Context(), []string{"diff", "--recursive", "--affected", "clusters"}, env); code != 0 || !strings.Contains(out.String(), want) {
				b.Fatalf("exit code %d, and no %q:\n%s", code, want, out.String())
			}
		}
	}
	b.Run("a module", func(b *testing.B) { diff(b, "8 to update") })
	if err := os.WriteFile("clusters/c3/more.lke.hcl", []byte("locals {\n  a = 1\n}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("git", "checkout", "-q", "modules").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run("one cluster", func(b *testing.B) { diff(b, "no changes: clusters/c3") })
}
