package config_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
)

// BenchmarkCompile compiles fleets written as separate blocks, and as one repeated block. Time must
// grow linearly with the number of pools.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{10, 100, 500, 5000} {
		b.Run(fmt.Sprintf("blocks=%d", n), func(b *testing.B) { benchmark(b, n, blocks(n)) })
	}
	for _, n := range []int{10, 100, 500, 5000} {
		b.Run(fmt.Sprintf("for_each=%d", n), func(b *testing.B) { benchmark(b, n, repeated(n)) })
	}
}

func benchmark(b *testing.B, n int, files fstest.MapFS) {
	files["cluster.lke.hcl"] = &fstest.MapFile{Data: []byte(cluster + "\nnode_class \"default\" {}\n")}
	for b.Loop() {
		compiled, diags, _ := compile(files, config.Options{})
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		if len(compiled.Objects) != n+1 {
			b.Fatalf("%d objects", len(compiled.Objects))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/pool")
}

const body = `
  node_class   = node_class.default
  requirements = merge({ arch = "amd64", os = "linux" }, { class = ["dedicated"], cpu = between(2, 48) })
  labels       = { "example.com/team" = "%[1]s" }
  taints       = ["example.com/team=%[1]s:NoSchedule"]
  limits       = { cpu = 400, memory = "1600Gi" }

  disruption {
    consolidate_after = "10m"

    budget {
      nodes = "10%%"
    }
  }
}
`

func blocks(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		name := fmt.Sprintf("pools%03d.lke.hcl", i/200)
		if files[name] == nil {
			files[name] = &fstest.MapFile{}
		}
		files[name].Data = fmt.Appendf(files[name].Data, "pool \"%[1]s\" {"+body, fmt.Sprint("team", i))
	}
	return files
}

// repeated has the maximum number of elements of a variable file, and multiplies them.
func repeated(n int) fstest.MapFS {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("team%d", i))
	}
	src := "locals {\n  teams = toset(split(\",\", \"" + strings.Join(names, ",") + "\"))\n}\n\n" +
		"pool \"each\" {\n  for_each = local.teams\n" + fmt.Sprintf(body, "${each.key}")
	return fstest.MapFS{"main.lke.hcl": {Data: []byte(src)}}
}
