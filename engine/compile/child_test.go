package compile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestMain lets the test's program be the compile.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compile.ChildCommand:
			os.Exit(compile.ChildMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
		case "hog":
			os.Exit(hog())
		}
	}
	os.Exit(m.Run())
}

// hog takes memory without end, as a compilation would that no other bound
// holds. Its request is not JSON, but the memory is limited anyway.
func hog() int {
	compile.ChildMain(context.Background(), strings.NewReader(""), os.Stdout, os.Stdout)
	var held [][]byte
	for {
		block := make([]byte, 16<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
		if len(held) > 1024 {
			fmt.Fprintln(os.Stderr, "16 GiB were given")
			return 0
		}
	}
}

func directory(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const good = `cluster {
  name   = "dev"
  region = "us-ord"
}

variable "cpus" {
  type = number
}

guards {
  max_deleted_pools = 2
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = var.cpus }
}

policy "few" {
  condition     = plan.nodes.rolled < 3
  error_message = "It rolls ${plan.nodes.rolled} nodes."
}
`

func TestCompileInAChild(t *testing.T) {
	var current catalog.Money
	p := plan.Plan{Current: &current, Counted: true, Nodes: 9,
		Changes: []plan.Change{{Kind: "NodePool", Impact: &plan.Impact{Known: true, Rolled: 5}}}}
	asked, err := p.PolicyJSON()
	if err != nil {
		t.Fatal(err)
	}
	result, err := compile.Child{}.Compile(t.Context(),
		compile.Request{Root: directory(t, good), Dir: ".", Vars: []config.Var{{Name: "cpus", Value: "4"}}, Plan: asked})
	if err != nil || result.Failed {
		t.Fatalf("%v, %v", err, result.Errors())
	}
	if result.Cluster.Name != "dev" || result.Guards.MaxDeletedPools != 2 || len(result.Objects) != 2 {
		t.Errorf("the result is not what was compiled: %+v", result)
	}
	if len(result.Verdicts) != 1 || result.Verdicts[0].Status != plan.Blocked ||
		result.Verdicts[0].Detail != "It rolls 5 nodes." {
		t.Errorf("verdicts = %+v", result.Verdicts)
	}
}

// TestUndeclaredValuesCanBeIgnored: where it is said, and only those that
// nothing declares.
func TestUndeclaredValuesCanBeIgnored(t *testing.T) {
	req := compile.Request{Root: directory(t, good), Dir: ".",
		Vars: []config.Var{{Name: "cpus", Value: "4"}, {Name: "later", Value: "1"}}}
	for _, spare := range []bool{false, true} {
		req.IgnoreUndeclared = spare
		result, err := compile.Child{}.Compile(t.Context(), req)
		if err != nil || result.Failed == spare {
			t.Errorf("spare: %v: %v, errors %v", spare, err, result.Errors())
		}
	}
	req.Vars = req.Vars[1:]
	if result, err := (compile.Child{}).Compile(t.Context(), req); err != nil || !result.Failed {
		t.Errorf("a missing value is not reported: %v", err)
	}
}

func TestErrorsHaveLocations(t *testing.T) {
	result, err := compile.Child{}.Compile(t.Context(),
		compile.Request{Root: directory(t,
			"cluster {\n  name = \"dev\"\n}\n\npool \"web\" {\n  node_class = node_class.nosuch\n}\n"), Dir: "."})
	if err != nil || !result.Failed {
		t.Fatalf("%v, failed: %v", err, result.Failed)
	}
	lines := result.Errors()
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "main.lke.hcl:1: ") ||
		!strings.HasPrefix(lines[1], "main.lke.hcl:6: ") {
		t.Errorf("errors:\n%s", strings.Join(lines, "\n"))
	}
}

func TestHangingChildIsKilled(t *testing.T) {
	began := time.Now()
	_, err := compile.Child{Program: []string{"sleep", "60"}, Timeout: 200 * time.Millisecond}.Compile(t.Context(),
		compile.Request{})
	if !errors.Is(err, compile.ErrTimeout) || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

func TestChildExceedingMemoryIsKilled(t *testing.T) {
	_, err := compile.Child{Program: []string{os.Args[0], "hog"}, Memory: 256 << 20}.Compile(t.Context(),
		compile.Request{})
	if !errors.Is(err, compile.ErrMemory) {
		t.Errorf("%v, want %v", err, compile.ErrMemory)
	}
}

func TestChildHasNoEnvironment(t *testing.T) {
	t.Setenv("LINODE_TOKEN", "hunter2")
	script := filepath.Join(t.TempDir(), "env.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s;' $(env) >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := (compile.Child{Program: []string{script}}).Compile(t.Context(), compile.Request{})
	if err == nil {
		t.Fatal("a program that fails gave a result")
	}
	var names []string
	_, seen, _ := strings.Cut(err.Error(), "exit status 1: ")
	for line := range strings.SplitSeq(strings.TrimSuffix(seen, ";"), ";") {
		if name, _, _ := strings.Cut(line, "="); name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" {
			names = append(names, name)
		}
	}
	if diff := cmp.Diff([]string{"GOMEMLIMIT", "GOTRACEBACK", "LKEPLAN_CHILD_MEMORY", "LKEPLAN_CHILD_READ"},
		slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("the child's environment (-want +got):\n%s", diff)
	}
}

// TestReadFilesAreListed: that it compiles to the same without the other files.
func TestReadFilesAreListed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"clusters/dev/main.lke.hcl": "cluster {\n  name   = \"dev\"\n  region = file(\"../region.txt\")\n}\n" +
			"node_class \"a\" {\n  name = var.name\n}\nvariable \"name\" {\n  type = string\n}\n" +
			"module \"m\" {\n  source = \"../../modules/m\"\n}\n" +
			"locals {\n  teams = fileset(\"../../teams\", \"*.yaml\")\n  more  = fileexists(\"../more.txt\")\n}\n",
		"teams/a.yaml": "{}", "teams/a.json": "{}", "clusters/more.txt": "x",
		"clusters/dev/prod.auto.lkevars.hcl": "name = \"std\"\n",
		"clusters/region.txt":                "us-ord",
		"clusters/prod/main.lke.hcl":         "x",
		"modules/m/m.lke.hcl":                "node_class \"b\" {}\n",
		"README.txt":                         "x",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := compile.Child{}.Compile(t.Context(), compile.Request{Root: dir, Dir: "clusters/dev"})
	if err != nil || answer.Failed {
		t.Fatalf("%v, %v", err, answer.Errors())
	}
	want := []string{"clusters/dev/main.lke.hcl", "clusters/dev/prod.auto.lkevars.hcl", "clusters/more.txt",
		"clusters/region.txt", "modules/m/m.lke.hcl", "teams/a.yaml"}
	if diff := cmp.Diff(want, answer.Read); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestBarriersAreErrors: a file that is too large, and a link that leads to
// itself, are what package fetch leaves of files that it does not write. No expression catches
// the error of a link, which lkeplan diff cannot read either.
func TestBarriersAreErrors(t *testing.T) {
	for name, bar := range map[string]struct {
		put        func(at string) error
		expression string // that reads a file of values
		want       string
	}{
		"too large": {func(at string) error { return os.WriteFile(at, make([]byte, 256<<10+1), 0o600) },
			`file("names.txt")`, "bytes"},
		"a link": {func(at string) error { return os.Symlink(filepath.Base(at), at) },
			`try(file("names.txt"), "n")`, "the controller fetches none of these"},
	} {
		for _, file := range []string{"more.lke.hcl", "more.auto.lkevars.hcl", "names.txt"} {
			dir := directory(t, good+"node_class \"n\" {\n  name = "+bar.expression+"\n}\n")
			if err := os.WriteFile(filepath.Join(dir, "names.txt"), []byte("n"), 0o600); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(dir, file))
			if err := bar.put(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			answer, err := compile.Child{}.Compile(t.Context(),
				compile.Request{Root: dir, Dir: ".", Vars: []config.Var{{Name: "cpus", Value: "4"}}})
			if errs := strings.Join(answer.Errors(), "\n"); err != nil || !strings.Contains(errs, file) ||
				!strings.Contains(errs, bar.want) {
				t.Errorf("%s is %s: %v, %s", file, name, err, errs)
			}
		}
	}
}
