package simulate_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

const benched = `
cluster {
  name   = "bench"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(2, 16) }
}

pool "dedicated" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = between(2, 16) }
  weight       = 5
  taints       = ["dedicated=true:NoSchedule"]
}
`

// BenchmarkSimulate simulates pods of so many shapes.
func BenchmarkSimulate(b *testing.B) {
	for _, size := range []struct{ pods, shapes int }{{500, 500}, {500, 5}, {5000, 5000}, {5000, 5}, {20000, 20}} {
		b.Run(fmt.Sprintf("%d pods of %d shapes", size.pods, size.shapes), func(b *testing.B) {
			in := shaped(b, size.pods, size.shapes)
			for b.Loop() {
				r, err := simulate.Run(b.Context(), in)
				if err != nil || r.Placed != size.pods {
					b.Fatal(r.Placed, err)
				}
				b.ReportMetric(float64(len(r.Nodes)), "nodes")
			}
		})
	}
}

// shaped are pods of different sizes.
func shaped(tb testing.TB, pods, shapes int) (in simulate.Input) {
	tb.Helper()
	compileInto(tb, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(benched)}})
	for i := range shapes {
		load, err := workload.ParsePods(fmt.Sprintf("%dx%dmcpu,%dMi", pods/shapes, 100+i*37%1900, 128+i*53%3900))
		if err != nil {
			tb.Fatal(err)
		}
		in.Workloads = append(in.Workloads, load)
	}
	return in
}

// BenchmarkSettle has half of the pods leave, and Karpenter consolidate.
func BenchmarkSettle(b *testing.B) {
	for _, size := range []struct{ pods, shapes int }{{500, 500}, {500, 5}, {5000, 5}} {
		b.Run(fmt.Sprintf("%d pods of %d shapes", size.pods, size.shapes), func(b *testing.B) {
			in := shaped(b, size.pods, size.shapes)
			in.Consolidate = &simulate.Consolidation{Keep: 50}
			for b.Loop() {
				r, err := simulate.Run(b.Context(), in)
				if err != nil || !r.Consolidated.Ended {
					b.Fatal(r.Consolidated, err)
				}
				b.ReportMetric(float64(len(r.Consolidated.Steps)), "steps")
				b.ReportMetric(float64(len(r.Consolidated.Nodes)), "nodes")
			}
		})
	}
}
