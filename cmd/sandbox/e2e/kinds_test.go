package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsOfAllKindsGetNodes: with a GPU, much ephemeral storage, a volume of the
// region, and spread over zones.
func TestPodsOfAllKindsGetNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--region", "us-southeast")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/kinds")
	s.kube(file(t, "kinds.yaml"), "apply", "-f", "-")
	up := s.until("all pods run", time.Minute, func(now state) bool { return now.running == 6 && now.matched() })
	gpus := 0
	for _, n := range up.nodes {
		if n.Labels[corev1.LabelInstanceTypeStable] == "g2-gpu-rtx4000a1-s" {
			gpus++
		}
	}
	if gpus != 1 || len(of(up, "gpu")) != 1 {
		t.Errorf("%d nodes have a GPU, want one, of the cheapest plan that has any", gpus)
	}
	if up.linode.Made != len(up.nodes) {
		t.Errorf("%d instances were made for %d nodes", up.linode.Made, len(up.nodes))
	}
}
