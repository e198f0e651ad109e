package e2e

import (
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
	s.until("the pod runs on the cheapest plan", 2*time.Minute, on("g6-standard-4"))
	tried := s.poolsAskedFor()
	if len(tried) != 3 || !strings.Contains(tried[2].Body, "g6-standard-4") {
		t.Fatalf("pools were asked for by %+v", tried)
	}
	if pause := tried[2].At.Sub(tried[0].At); pause < ttl {
		t.Errorf("the plan without capacity was tried again after %s, want not before %s", pause, ttl)
	}
}
