package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestStateOfNode decides the state from each combination of facts that the product distinguishes.
func TestStateOfNode(t *testing.T) {
	claim := func(id string, conditions ...string) *karpv1.NodeClaim {
		nc := &karpv1.NodeClaim{}
		nc.Status.ProviderID = id
		for _, c := range conditions {
			nc.StatusConditions().SetTrue(c)
		}
		return nc
	}
	const linode, initialized, drifted = "linode://7", karpv1.ConditionTypeInitialized, karpv1.ConditionTypeDrifted
	node := func(ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
		for _, c := range change {
			c(n)
		}
		return n
	}
	tainted := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
	}
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	deleted := func(o metav1.Object) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }
	going := claim(linode, initialized)
	deleted(going)
	leaving := node("True")
	deleted(leaving)
	for _, tt := range []struct {
		name              string
		claim             *karpv1.NodeClaim
		node              *corev1.Node
		outdated, blocked bool
		want, progress    cluster.NodeState
	}{
		{name: "no answer of the provider", claim: claim(""), want: cluster.NodeRequested},
		{name: "no machine", claim: claim(nodeclaim.PendingID("x")), want: cluster.NodeRequested},
		{name: "no machine, outdated", claim: claim(""), outdated: true, blocked: true, want: cluster.NodeRequested},
		{name: "no Node", claim: claim(linode), want: cluster.NodeJoining},
		{name: "no Node, outdated", claim: claim(linode, drifted), outdated: true, want: cluster.NodeJoining},
		{name: "unregistered", claim: claim(linode, initialized), node: node("True", tainted(karpv1.UnregisteredTaintKey)),
			want: cluster.NodeJoining},
		{name: "unregistered, without a claim", node: node("True", tainted(karpv1.UnregisteredTaintKey)), want: cluster.NodeJoining},
		{name: "not initialized", claim: claim(linode), node: node("True"), want: cluster.NodeJoining},
		{name: "not initialized, outdated", claim: claim(linode), node: node("True"), outdated: true, want: cluster.NodeJoining},
		{name: "not initialized, not ready", claim: claim(linode), node: node("False"), want: cluster.NodeNotReady},
		{name: "ready", claim: claim(linode, initialized), node: node("True"), want: cluster.NodeReady},
		{name: "ready, blocked but not outdated", claim: claim(linode, initialized), node: node("True"), blocked: true, want: cluster.NodeReady},
		{name: "ready, without a claim", node: node("True"), want: cluster.NodeReady},
		{name: "not ready", claim: claim(linode, initialized), node: node("False"), want: cluster.NodeNotReady},
		{name: "silent", claim: claim(linode, initialized), node: node("Unknown"), want: cluster.NodeNotReady},
		{name: "without conditions", node: &corev1.Node{}, want: cluster.NodeNotReady},
		{name: "not ready, drifted", claim: claim(linode, initialized, drifted), node: node("False"), want: cluster.NodeNotReady},
		{name: "cordoned", claim: claim(linode, initialized), node: node("True", cordoned), want: cluster.NodeCordoned, progress: cluster.NodeReady},
		{name: "cordoned, not ready", claim: claim(linode, initialized), node: node("False", cordoned), want: cluster.NodeNotReady},
		{name: "drifted", claim: claim(linode, initialized, drifted), node: node("True", cordoned), want: cluster.NodeOutdated,
			progress: cluster.NodeReady},
		{name: "outdated", claim: claim(linode, initialized), node: node("True"), outdated: true, want: cluster.NodeOutdated,
			progress: cluster.NodeReady},
		{name: "outdated, not ready", claim: claim(linode, initialized), node: node("False"), outdated: true, want: cluster.NodeOutdated,
			progress: cluster.NodeNotReady},
		{name: "blocked", claim: claim(linode, initialized, drifted), node: node("True"), outdated: true, blocked: true,
			want: cluster.NodeBlocked, progress: cluster.NodeReady},
		{name: "disrupted", claim: claim(linode, initialized), node: node("True", tainted(karpv1.DisruptedTaintKey)), outdated: true,
			blocked: true, want: cluster.NodeDraining, progress: cluster.NodeReady},
		{name: "claim deleted", claim: going, node: node("True"), want: cluster.NodeDraining, progress: cluster.NodeReady},
		{name: "claim deleted, no Node", claim: going, want: cluster.NodeDraining, progress: cluster.NodeJoining},
		{name: "Node deleted", claim: claim(linode, initialized), node: leaving, want: cluster.NodeDraining, progress: cluster.NodeReady},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.progress == "" {
				tt.progress = tt.want
			}
			if got := cluster.StateOf(tt.claim, tt.node, tt.outdated, tt.blocked); got != tt.want {
				t.Errorf("the state is %q, want %q", got, tt.want)
			}
			if got := cluster.ProgressOf(tt.claim, tt.node); got != tt.progress {
				t.Errorf("the progress is %q, want %q", got, tt.progress)
			}
		})
	}
}
