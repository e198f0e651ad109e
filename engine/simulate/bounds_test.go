package simulate_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// TestNobodySimulatesBillionsOfPods: a Deployment of some bytes asks for as many, and so may
// several that are each within the bound.
func TestNobodySimulatesBillionsOfPods(t *testing.T) {
	for _, pods := range [][]int{{2_000_000_000}, {60_000, 60_000}} {
		in := simulate.Input{Region: "us-ord"}
		for _, n := range pods {
			in.Workloads = append(in.Workloads, simulate.Workload{Name: "Deployment a", Pods: n})
		}
		_, err := simulate.Run(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), "more than 100000, the most that can be simulated") {
			t.Errorf("%d pods: %v", pods, err)
		}
	}
}
