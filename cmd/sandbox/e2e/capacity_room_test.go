package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestRoomForSomeTakesTheRestFromTheNextPlan: LKE has two machines of the cheapest plan
// type that fits, for five pods that need one each. It makes the two, and only the rest
// comes from the next plan.
func TestRoomForSomeTakesTheRestFromTheNextPlan(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/fallback")
	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-4","room":2}`)
	s.kube(workload("any", 5), "apply", "-f", "-")
	up := s.until("the pods run", 2*time.Minute, func(now state) bool { return now.running == 5 && now.matched() })
	if got := plans(up); got["g6-standard-4"] != 2 || got["g6-dedicated-4"] != 3 || up.linode.Made != 5 {
		t.Errorf("%d machines were made: %v", up.linode.Made, got)
	}
}

// TestMachinesThatLKECountsAndNeverListsAreTakenFromTheNextPlan: the claims for them are
// given up, the plan is left alone, and what was counted goes.
func TestMachinesThatLKECountsAndNeverListsAreTakenFromTheNextPlan(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/fallback")
	s.inject(`{"no_capacity":"hidden","plan":"g6-standard-4"}`)
	s.kube(workload("any", 3), "apply", "-f", "-")
	up := s.until("the pods run, and nothing is counted that is not there", 8*time.Minute, func(now state) bool {
		return now.running == 3 && now.matched()
	})
	if got := plans(up); got["g6-dedicated-4"] != 3 {
		t.Errorf("the nodes are %v", got)
	}
}

// plans counts the nodes of each plan type.
func plans(now state) map[string]int {
	count := map[string]int{}
	for _, n := range now.nodes {
		count[n.Labels[corev1.LabelInstanceTypeStable]]++
	}
	return count
}

// TestARestoreWithoutNodeClaimsKeepsTheNodes: they run on, an event says so and what to do,
// and those that somebody lets go are drained.
func TestARestoreWithoutNodeClaimsKeepsTheNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.kube(file(t, "inflate.yaml"), "apply", "-f", "-")
	s.scale(20)
	up := s.whole("the scale-up", 20)

	c.kill()
	for _, nc := range up.claims {
		s.kube("", "patch", "nodeclaim", nc.Name, "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`)
	}
	s.kube("", "delete", "nodeclaims", "--all")
	s.startController()
	s.until("an event says what to do", 4*time.Minute, func(state) bool {
		return s.told("NodePool", "NodesOrphaned", "lkeplan.dev/orphaned=delete")
	})
	s.never("a pod or a machine went", 30*time.Second, func(now state) bool {
		return now.running != 20 || now.linode.Live != 5 || len(now.nodes) != 5
	})

	for _, n := range up.nodes[:2] {
		s.kube("", "annotate", "--overwrite", "node", n.Name, "lkeplan.dev/orphaned=delete")
	}
	s.until("two were drained, and the rest stays", 4*time.Minute, func(now state) bool {
		for _, n := range now.nodes {
			if n.Name == up.nodes[0].Name || n.Name == up.nodes[1].Name {
				return false
			}
		}
		return now.running == 20 && now.pending == 0 && now.linode.Live == 5 && len(now.claims) == 2
	})
}
