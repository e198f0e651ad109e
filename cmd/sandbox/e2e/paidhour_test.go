package e2e

import (
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestNodesAreConsolidatedNearTheEndOfPaidHours: of two nodes without pods the one whose class asks for nothing is removed,
// and the other stays until its hour has 58 minutes left. New pods run on it meanwhile.
func TestNodesAreConsolidatedNearTheEndOfPaidHours(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/paidhour")
	for _, pool := range []string{"late", "usual"} {
		s.kube(workload(pool, 1), "apply", "-f", "-")
	}
	before := s.until("both pods run", 90*time.Second, func(now state) bool { return now.running == 2 && now.matched() })
	var late karpv1.NodeClaim
	for _, nc := range before.claims {
		if nc.Labels[karpv1.NodePoolLabelKey] == "late" {
			late = nc
		}
	}
	opens := late.CreationTimestamp.Add(2 * time.Minute)
	stays := func(now state) bool {
		for _, nc := range now.claims {
			if nc.UID == late.UID && nc.DeletionTimestamp.IsZero() {
				return true
			}
		}
		return false
	}
	s.scaleTo("late", 0)
	s.scaleTo("usual", 0)
	s.until("the node of the other class is removed", time.Minute, func(now state) bool {
		return len(now.claims) == 1 && len(now.nodes) == 1
	})
	s.never("the node is removed before its time", func(now state) bool { return !stays(now) && time.Now().Before(opens) },
		c.disruption())
	s.until("the node is removed", 4*time.Minute, func(now state) bool { return !stays(now) })
	if gone := time.Now(); gone.Before(opens) {
		t.Errorf("the node was removed %s before its time", opens.Sub(gone))
	}
	s.until("nothing is left", time.Minute, state.empty)
}
