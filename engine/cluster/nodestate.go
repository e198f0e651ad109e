package cluster

import (
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// NodeState is the state of a node, or of a NodeClaim whose node has not joined.
type NodeState string

// The states, in the order of a node's life.
const (
	NodeRequested NodeState = "requested" // it has no machine yet
	NodeJoining   NodeState = "joining"   // it has a machine, and Karpenter has not initialized its Node
	NodeReady     NodeState = "ready"
	NodeNotReady  NodeState = "not ready"
	NodeCordoned  NodeState = "cordoned" // ready, but it gets no more pods
	NodeOutdated  NodeState = "outdated" // it will be replaced
	NodeBlocked   NodeState = "blocked"  // it will be replaced, and something blocks that
	NodeDraining  NodeState = "draining"
)

// NodeStates returns all states, in the order of a node's life.
func NodeStates() []NodeState {
	return []NodeState{NodeRequested, NodeJoining, NodeReady, NodeNotReady, NodeCordoned, NodeOutdated, NodeBlocked, NodeDraining}
}

// StateOf returns the state of a NodeClaim and its Node, one of which may be nil. The node is outdated if it differs
// from its pool or its class, and blocked if something keeps Karpenter from replacing it.
func StateOf(nc *karpv1.NodeClaim, node *corev1.Node, outdated, blocked bool) NodeState {
	switch progress := ProgressOf(nc, node); {
	case nc != nil && !nc.DeletionTimestamp.IsZero(),
		node != nil && (!node.DeletionTimestamp.IsZero() || hasTaint(node, karpv1.DisruptedTaintKey)):
		return NodeDraining
	case progress == NodeRequested, progress == NodeJoining:
		return progress
	case outdated && blocked:
		return NodeBlocked
	case outdated, progress == NodeReady && claimIs(nc, karpv1.ConditionTypeDrifted):
		return NodeOutdated
	case progress == NodeReady && node.Spec.Unschedulable:
		return NodeCordoned
	default:
		return progress
	}
}

// ProgressOf returns how far a node has come, regardless of what happens to it next: requested, joining, not ready or ready. It
// is the part of StateOf that decides whether a new node has succeeded.
func ProgressOf(nc *karpv1.NodeClaim, node *corev1.Node) NodeState {
	switch {
	case node == nil && nodeclaim.InstanceOf(nc.Status.ProviderID) == 0:
		return NodeRequested
	case node == nil:
		return NodeJoining
	case nodeutils.GetCondition(node, corev1.NodeReady).Status != corev1.ConditionTrue:
		return NodeNotReady
	case hasTaint(node, karpv1.UnregisteredTaintKey), nc != nil && !claimIs(nc, karpv1.ConditionTypeInitialized):
		return NodeJoining
	}
	return NodeReady
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// claimIs reports whether a condition of a NodeClaim is true; false without a NodeClaim.
func claimIs(nc *karpv1.NodeClaim, condition string) bool {
	return nc != nil && nc.StatusConditions(status.WithObservedOnly()).Get(condition).IsTrue()
}
