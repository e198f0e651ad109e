package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

// fleet has so many pools, and for each 20 pods that only run in it, whose number is then halved.
func fleet(tb testing.TB, pools, pods int) (in simulate.Input) {
	tb.Helper()
	var text strings.Builder
	text.WriteString("cluster {\n  name = \"bench\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\n")
	for i := range pools {
		fmt.Fprintf(&text, "pool \"p%d\" {\n  node_class = node_class.default\n  requirements = { class = \"standard\", cpu = between(2, 8) }\n"+
			"  labels = { team = \"t%d\" }\n}\n", i, i)
	}
	compileInto(tb, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(text.String())}})
	for i := range pools {
		load, err := workload.ParsePods(fmt.Sprintf("%dx%dmcpu,%dMi", pods/pools, 300+i*37%700, 512+i*53%1500))
		if err != nil {
			tb.Fatal(err)
		}
		load.Pod.Spec.NodeSelector = map[string]string{"team": fmt.Sprintf("t%d", i)}
		in.Workloads = append(in.Workloads, load)
	}
	in.Consolidate = &simulate.Consolidation{Keep: 50}
	return in
}

// BenchmarkSettleFleet consolidates pools whose pods do not mix.
func BenchmarkSettleFleet(b *testing.B) {
	for _, size := range []struct{ pools, pods int }{{30, 600}, {50, 5000}} {
		b.Run(fmt.Sprintf("%d pods in %d pools", size.pods, size.pools), func(b *testing.B) {
			in := fleet(b, size.pools, size.pods)
			for b.Loop() {
				r, err := simulate.Run(b.Context(), in)
				if err != nil || !r.Consolidated.Ended {
					b.Fatal(r.Consolidated, err)
				}
				b.ReportMetric(float64(len(r.Consolidated.Steps)), "steps")
				b.ReportMetric(float64(len(r.Nodes)), "nodes")
			}
		})
	}
}
