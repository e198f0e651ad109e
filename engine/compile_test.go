package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine"
)

// TestBad has the documents that compile and that the API server would refuse.
func TestBad(t *testing.T) {
	configtest.Bad(t, "testdata/bad", func(files fstest.MapFS) hcl.Diagnostics {
		_, diags := engine.Compile(context.Background(), files, engine.CompileOptions{})
		return diags
	})
}

// TestCompileOld checks the rules about changes: they need the object as it is.
func TestCompileOld(t *testing.T) {
	static := fleet(1, "  replicas = 3\n")
	compiled, diags := engine.Compile(context.Background(), static, engine.CompileOptions{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	opts := engine.CompileOptions{Old: func(_, kind, name string) map[string]any {
		for _, r := range compiled.Resources {
			if r.Kind() == kind && r.Name() == name {
				return r.Defaulted
			}
		}
		return nil
	}}
	if _, diags := engine.Compile(context.Background(), static, opts); diags.HasErrors() {
		t.Errorf("no change: %v", diags)
	}
	_, diags = engine.Compile(context.Background(), fleet(1, ""), opts)
	if want := "Cannot transition NodePool between static"; len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
		t.Errorf("got %v, want %q", diags, want)
	}
}

func TestCompileStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, diags := engine.Compile(ctx, fleet(1, ""), engine.CompileOptions{}); !diags.HasErrors() {
		t.Error("compiled although the context was done")
	}
}

// fleet is a directory of n pools, 20 to a file, with some more arguments in
// each.
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
  requirements = merge(local.base, { class = ["dedicated", "standard"], memory = gte("8Gi") })
  labels       = { "example.com/team" = "team%d" }
  taints       = ["example.com/team=team%d:NoSchedule"]
  expire_after = "336h"
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
`, i, i, i, more)
	}
	return files
}

// BenchmarkCompile measures fleets, validation included, and what is done once
// in a process: reading the definitions and compiling their rules.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 10, 100, 500, 2000} {
		b.Run(fmt.Sprintf("pools=%d", n), func(b *testing.B) {
			files := fleet(n, "")
			for b.Loop() {
				if _, diags := engine.Compile(context.Background(), files, engine.CompileOptions{}); diags.HasErrors() {
					b.Fatal(diags)
				}
			}
		})
	}
}
