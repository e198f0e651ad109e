package simulate_test

import (
	"fmt"
	"slices"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// BenchmarkMoves finds the moves, on both sides of a change, of a fleet whose pods do not mix: of a new pool for the pods of
// one of the pools, and of a new pool for the pods of no pool.
func BenchmarkMoves(b *testing.B) {
	for _, size := range []struct{ pools, pods int }{{30, 600}, {50, 5000}} {
		in := fleet(b, size.pools, size.pods)
		live, err := simulate.ConsolidatedCluster(b.Context(), in)
		if err != nil {
			b.Fatal(err)
		}
		for _, team := range []string{"t1", "none"} {
			after := objectsOf(b, directory("")+pool("new", `class = "standard", cpu = between(1, 8)`, "weight = 50", fmt.Sprintf("labels = { team = %q }", team)))
			added := slices.Clone(in.Objects)
			for _, obj := range after {
				if pool, ok := obj.(*karpv1.NodePool); ok {
					added = append(added, pool)
				}
			}
			b.Run(fmt.Sprintf("%d pods on %d nodes in %d pools, a pool for %s", size.pods, len(live.Nodes), size.pools, team), func(b *testing.B) {
				for b.Loop() {
					moved, err := simulate.Moves(b.Context(), live, friday, in.Objects, added)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(len(moved)), "moves")
				}
			})
		}
	}
}
