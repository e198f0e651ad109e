package compile_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/compile"
)

// TestBad has the documents that compile and that the API server would refuse.
func TestBad(t *testing.T) {
	configtest.Bad(t, "testdata/bad", func(files fstest.MapFS) hcl.Diagnostics {
		_, diags := compile.Dir(context.Background(), files, compile.Options{})
		return diags
	})
}

// opens counts how often each file is opened.
type opens struct {
	fstest.MapFS
	of map[string]int
}

func (o opens) Open(name string) (fs.File, error) {
	o.of[name]++
	return o.MapFS.Open(name)
}

// TestFilesAreReadOnce: a file is opened to see whether it is a pointer of Git LFS, and to read it.
func TestFilesAreReadOnce(t *testing.T) {
	const name = "main.lke.hcl"
	files := opens{fstest.MapFS{name: {Data: []byte("cluster {\n  name = \"dev\"\n}\n")}}, map[string]int{}}
	compile.Look(t.Context(), files, compile.Options{})
	if files.of[name] != 2 {
		t.Errorf("%s is opened %d times, want 2", name, files.of[name])
	}
}

// TestPatternsInWords checks that if config words a mistake itself, the
// API server would have refused the same value: manifest passes it through.
func TestPatternsInWords(t *testing.T) {
	tests := []struct{ argument, field string }{
		{`expire_after = "30d"`, `template = { spec = { expireAfter = "30d" } }`},
		{`expire_after = 720`, `template = { spec = { expireAfter = "720" } }`},
		{`expire_after = "never"`, `template = { spec = { expireAfter = "never" } }`},
		{`expire_after = "1500ms"`, `template = { spec = { expireAfter = "1500ms" } }`},
		{`expire_after = ""`, `template = { spec = { expireAfter = "" } }`},
		{`termination_grace_period = "1.5h"`, `template = { spec = { terminationGracePeriod = "1.5h" } }`},
		{`weight = 1.5`, `weight = 1.5`},
		{`limits = { cpu = "4 cores" }`, `limits = { cpu = "4 cores" }`},
		{`limits = { memory = "1600 Gi" }`, `limits = { memory = "1600 Gi" }`},
		{`taints = ["a:Never"]`, `template = { spec = { taints = [{ key = "a", effect = "Never" }] } }`},
		{`taints = ["a"]`, `template = { spec = { taints = [{ key = "a" }] } }`},
		{`taints = [":NoExecute"]`, `template = { spec = { taints = [{ key = "", effect = "NoExecute" }] } }`},
		{`requirements = { cpu = gte("x") }`,
			`template = { spec = { requirements = [{ key = "a", operator = "Gte", values = ["x"] }] } }`},
		{`requirements = { cpu = gte(-1) }`,
			`template = { spec = { requirements = [{ key = "a", operator = "Gte", values = ["-1"] }] } }`},
		{`requirements = { cpu = [] }`,
			`template = { spec = { requirements = [{ key = "a", operator = "In", values = [] }] } }`},
	}
	for _, tt := range tests {
		t.Run(tt.argument, func(t *testing.T) {
			for source, text := range map[string]string{"config": tt.argument,
				"API server": "manifest = { spec = { " + tt.field + " } }"} {
				_, diags := compile.Dir(context.Background(), fleet(1, text), compile.Options{})
				if !diags.HasErrors() {
					t.Fatalf("the %s has nothing against it", source)
				}
				theirs := slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary == "Invalid NodePool" })
				if theirs != (source == "API server") {
					t.Errorf("it is not the %s that complains: %v", source, diags.Errs())
				}
			}
		})
	}
}

func TestCompileStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, diags := compile.Dir(ctx, fleet(1, ""), compile.Options{}); !diags.HasErrors() {
		t.Error("compiled although the context was done")
	}
}

// fleet is a directory of n pools, 20 to a file, with more arguments in each.
func fleet(n int, more string) fstest.MapFS {
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(`cluster {
  name   = "fleet"
  region = "us-ord"
}

locals {
  base = { arch = "amd64", os = "linux", cpu = between(2, 48) }
}

node_class "default" {
  tags = ["env:prod"]
}
`)}}
	for i := range n {
		name := fmt.Sprintf("pools%d.lke.hcl", i/20)
		if files[name] == nil {
			files[name] = &fstest.MapFile{}
		}
		files[name].Data = fmt.Appendf(files[name].Data, `
pool "team%d" {
  node_class   = node_class.default
  labels       = { "example.com/team" = "team%d" }
%s
  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%%"
    }

    budget {
      nodes    = 0
      reasons  = ["Drifted"]
      schedule = "0 13 * * mon-fri"
      duration = "10h"
    }
  }
}
`, i, i, more)
	}
	return files
}

// BenchmarkCompile measures fleets, validation included, and what is done once
// in a process: reading the CRDs and compiling their rules.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 10, 100, 500, 2000} {
		b.Run(fmt.Sprintf("pools=%d", n), func(b *testing.B) {
			files := fleet(n, `
  requirements = merge(local.base, { class = ["dedicated", "standard"], memory = gte("8Gi") })
  taints       = ["example.com/team=web:NoSchedule"]
  expire_after = "336h"
`)
			for b.Loop() {
				if _, diags := compile.Dir(context.Background(), files, compile.Options{}); diags.HasErrors() {
					b.Fatal(diags)
				}
			}
		})
	}
}
