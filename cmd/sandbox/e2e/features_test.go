package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
)

// TestOptionalFeatures runs Karpenter's features behind their gates, and the
// admission policy for Nodes, all together.
func TestOptionalFeatures(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.kube("", "apply", "-f", "../../../kube/deploy/node-admission.yaml")
	first := s.watchNodes()
	s.startController("--feature-gates", "NodeOverlay", "--node-admission-params",
		"kube-system/lkeplan-pools")
	byHand := s.poolByHand()
	s.run("lkeplan", "apply", "--yes", "testdata/fallback")
	s.kube(file(t, "features.yaml"), "apply", "-f", "-")
	s.applyAll(workload("any", 1))

	up := s.until("a pod runs, one is spared for, and a static pool has its node", time.Minute, func(now state) bool {
		return now.running == 1 && len(of(now, "any")) == 2 && len(of(now, "fixed")) == 1 && initialized(now) == 3
	})
	for _, n := range of(up, "any") {
		if plan := n.Labels[corev1.LabelInstanceTypeStable]; plan != "g6-dedicated-4" {
			t.Errorf("node %s is a %s: the NodeOverlay makes dedicated plans the cheapest", n.Name, plan)
		}
	}

	sick := of(up, "fixed")[0].Name
	since := time.Now().Add(-31 * time.Minute).UTC().Format(time.RFC3339)
	s.until("the node that was not ready for long is repaired by another", time.Minute, func(now state) bool {
		fixed := of(now, "fixed")
		if len(fixed) > 0 && fixed[0].Name == sick && ready(fixed[0]) {
			// KWOK, which plays the kubelet, may have reported the node ready meanwhile.
			s.tries(s.env["KUBECONFIG"], "", "patch", "node", sick, "--subresource=status", "--type=strategic", "-p",
				fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Sick",
					"lastTransitionTime":%q,"lastHeartbeatTime":%[1]q}]}}`, since))
		}
		return len(fixed) == 1 && fixed[0].Name != sick && initialized(now) == 3
	})

	for name, taints := range first() {
		unregistered := karpv1.UnregisteredNoExecuteTaint
		tainted := false
		for _, taint := range taints {
			tainted = tainted || taint.MatchTaint(&unregistered)
		}
		if ours := name != byHand; ours != tainted {
			t.Errorf("node %s registered with %v", name, taints)
		}
	}
}

// TestABufferKeepsItsNodes: though they have no pods, and the pool deletes empty nodes
// at once.
func TestABufferKeepsItsNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.merge("nodepool", "four", `{"spec":{"disruption":{"consolidateAfter":"0s"}}}`)
	s.kube(file(t, "buffer.yaml"), "apply", "-f", "-")
	s.until("two nodes are there", time.Minute, func(now state) bool { return len(now.nodes) == 2 && now.matched() })
	s.never("one of them goes, or another comes", func(now state) bool {
		return len(now.claims) != 2 || now.linode.Made != 2
	}, c.disruption(), c.provisioning())
	s.kube("", "delete", "capacitybuffer", "spare")
	s.until("nothing is left", 2*time.Minute, state.empty)
}

// of returns the nodes of a NodePool.
func of(now state, pool string) (nodes []corev1.Node) {
	for _, n := range now.nodes {
		if n.Labels[karpv1.NodePoolLabelKey] == pool {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func ready(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// initialized counts the nodes that Karpenter has initialized.
func initialized(now state) (n int) {
	for _, node := range now.nodes {
		if node.Labels[karpv1.NodeInitializedLabelKey] == "true" && node.DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

// poolByHand creates a node pool that lkeplan does not own, and returns the name of its
// Node when it has joined.
func (s *sandbox) poolByHand() string {
	s.t.Helper()
	cluster := s.clusterID()
	pool, err := s.linodeAPI().CreatePool(s.t.Context(), cluster, api.PoolSpec{Type: "g6-standard-1", Count: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	name := fmt.Sprintf("lke%d-%s", cluster, pool.Linodes[0].ID)
	s.until("the node made by hand has joined", 20*time.Second, func(now state) bool {
		return len(now.nodes) == 1 && now.nodes[0].Name == name && now.nodes[0].Spec.ProviderID != ""
	})
	return name
}
