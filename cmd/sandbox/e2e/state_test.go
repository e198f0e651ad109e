package e2e

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// state is what exists at one moment.
type state struct {
	nodes   []corev1.Node // without the system's
	claims  []karpv1.NodeClaim
	running int // pods
	pending int
	linode  sim.Stats
}

func (s state) String() string {
	return fmt.Sprintf("%d nodes, %d NodeClaims, %d slots and %d instances at LKE, %d pods running, %d not",
		len(s.nodes), len(s.claims), s.linode.Slots, s.linode.Live, s.running, s.pending)
}

// empty reports whether no capacity is left anywhere.
func (s state) empty() bool {
	return len(s.nodes)+len(s.claims)+s.linode.Slots+s.linode.Live+s.linode.Pools == 0
}

// matched reports whether each NodeClaim has its slot and its ready node.
func (s state) matched() bool {
	for _, n := range s.nodes {
		if n.Labels[karpv1.NodeInitializedLabelKey] != "true" || !n.DeletionTimestamp.IsZero() {
			return false
		}
	}
	return len(s.nodes) == len(s.claims) && len(s.claims) == s.linode.Slots && s.linode.Slots == s.linode.Live
}

// deleting reports whether a node or a NodeClaim is marked as deleted.
func (s state) deleting() bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return !n.DeletionTimestamp.IsZero() }) ||
		slices.ContainsFunc(s.claims, func(nc karpv1.NodeClaim) bool { return !nc.DeletionTimestamp.IsZero() })
}

// slowdown is how much longer than on an idle machine a test waits for what must
// come about: with other sandboxes beside it, a sandbox has a part of the processors only.
const slowdown = 3
