package inspect

import (
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

// State is how a node does.
type State string

// The states, those first that somebody should look at.
const (
	StateNotReady State = "not ready"
	StateOrdered  State = "ordered"  // LKE is to make its machine
	StateBooting  State = "booting"  // the machine is there, and has not joined
	StateJoining  State = "joining"  // it has joined, and no pod may run on it yet
	StateDraining State = "draining" // it goes
	StateLeaving  State = "leaving"  // Karpenter has decided to replace or remove it
	StateOutdated State = "outdated" // it is to be replaced, as budgets allow
	StateCordoned State = "cordoned"
	StateReady    State = "ready"
)

// states are all states in order.
var states = []State{StateNotReady, StateOrdered, StateBooting, StateJoining, StateDraining, StateLeaving, StateOutdated, StateCordoned, StateReady}

// rolls reports whether a node in the state is replaced or removed, now or soon.
func (s State) rolls() bool { return s == StateDraining || s == StateLeaving || s == StateOutdated }

// stateOf says how a node does, and why, where there is a word for it. One of the two may
// be missing.
func stateOf(node *corev1.Node, nc *karpv1.NodeClaim) (state State, why string) {
	switch {
	case node == nil:
		return absent(nc)
	case !node.DeletionTimestamp.IsZero(), nc != nil && !nc.DeletionTimestamp.IsZero():
		return StateDraining, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	case tainted(node, karpv1.DisruptedTaintKey):
		return StateLeaving, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	}
	if ready := nodeutils.GetCondition(node, corev1.NodeReady); ready.Status != corev1.ConditionTrue {
		if ready.Status == "" {
			return StateNotReady, "no word from its kubelet"
		}
		return StateNotReady, ready.Reason
	}
	switch {
	case tainted(node, karpv1.UnregisteredTaintKey), nc != nil && !holds(nc, karpv1.ConditionTypeInitialized):
		return StateJoining, ""
	case nc != nil && holds(nc, karpv1.ConditionTypeDrifted):
		return StateOutdated, reasonOf(nc, karpv1.ConditionTypeDrifted)
	case node.Spec.Unschedulable:
		return StateCordoned, ""
	}
	return StateReady, ""
}

// absent is the state of a NodeClaim without a Node.
func absent(nc *karpv1.NodeClaim) (State, string) {
	switch {
	case !nc.DeletionTimestamp.IsZero():
		return StateDraining, reasonOf(nc, karpv1.ConditionTypeDisruptionReason)
	case strings.HasPrefix(nc.Status.ProviderID, "linode://"):
		return StateBooting, ""
	}
	return StateOrdered, ""
}

func tainted(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func holds(nc *karpv1.NodeClaim, condition string) bool {
	return nc.StatusConditions(status.WithObservedOnly()).Get(condition).IsTrue()
}

// reasonOf is the reason of a condition that is true; "" where it is not.
func reasonOf(nc *karpv1.NodeClaim, condition string) string {
	if nc == nil || !holds(nc, condition) {
		return ""
	}
	return nc.StatusConditions(status.WithObservedOnly()).Get(condition).Reason
}
