package compile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMemoryOfManyPools: what is kept of a pool that was compiled is little more
// than what it has that others have not. Its syntax tree alone would be 12 KiB.
func TestMemoryOfManyPools(t *testing.T) {
	const pools, most = 400, 10 << 10
	var text strings.Builder
	text.WriteString(`cluster {
  name   = "many"
  region = "us-ord"
}

locals {
  base = { arch = "amd64", cpu = between(2, 48) }
}

node_class "default" {}
`)
	for i := range pools {
		fmt.Fprintf(&text, `
pool "p%[1]d" {
  node_class   = node_class.default
  requirements = merge(local.base, { class = ["dedicated", "standard"], memory = gte("8Gi") })
  labels       = { "example.com/team" = "t%[1]d" }
  taints       = ["example.com/team=t%[1]d:NoSchedule"]
  limits       = { cpu = 400, memory = "1600Gi" }
  expire_after = "720h"

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
`, i)
	}
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(text.String())}}
	compiled := func() Result {
		result, diags := Dir(t.Context(), files, Options{})
		if diags.HasErrors() || len(result.Objects) != pools+1 {
			t.Fatalf("%d objects: %v", len(result.Objects), diags)
		}
		return result
	}
	compiled() // what is made once
	before := live()
	result := compiled()
	if each := (live() - before) / pools; each > most {
		t.Errorf("a pool takes %d bytes, and %d are the bound", each, most)
	} else {
		t.Logf("a pool takes %d bytes", each)
	}
	runtime.KeepAlive(result)
}

// live is how much memory is in use, in bytes.
func live() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what has been cleaned up by the first is free after the second
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
