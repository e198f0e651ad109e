package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestCapacityThatComesBackIsUsedAgain: while LKE has no capacity for the cheapest
// plan type, the pod gets a node of the next one. When there is capacity again, and
// the offering is available again, Karpenter consolidates to the cheaper node.
func TestCapacityThatComesBackIsUsedAgain(t *testing.T) {
	t.Parallel()
	const ttl = 15 * time.Second
	s := startSandbox(t)
	s.installCRDs()
	s.startController("--unavailable-offerings-ttl", ttl.String())
	s.run("lkeplan", "apply", "--yes", "testdata/fallback")
	s.merge("nodepool", "any", `{"spec":{"disruption":{"consolidateAfter":"5s"}}}`)
	on := func(plan string) func(state) bool {
		return func(now state) bool {
			return now.running == 1 && now.matched() && len(now.nodes) == 1 &&
				now.nodes[0].Labels[corev1.LabelInstanceTypeStable] == plan
		}
	}
	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-4"}`)
	s.applyAll(workload("any", 1))
	s.until("the pod runs on the next plan", time.Minute, on("g6-dedicated-4"))
	s.clearFaults()
	// Karpenter looks again when a pool changes; else only after five minutes, as an offering that is
	// available again is not a change of the cluster to it.
	var edits int
	var edited time.Time
	s.until("the pod runs on the cheapest plan", 2*time.Minute, func(now state) bool {
		if time.Since(edited) > 5*time.Second {
			edits, edited = edits+1, time.Now()
			s.merge("nodepool", "any", fmt.Sprintf(`{"spec":{"disruption":{"consolidateAfter":"%ds"}}}`, 4+edits%2))
		}
		return on("g6-standard-4")(now)
	})
	tried := s.poolsAskedFor()
	if len(tried) != 3 || !strings.Contains(tried[2].Body, "g6-standard-4") {
		t.Fatalf("pools were asked for by %+v", tried)
	}
	if pause := tried[2].At.Sub(tried[0].At); pause < ttl {
		t.Errorf("the plan without capacity was tried again after %s, want not before %s", pause, ttl)
	}
}
