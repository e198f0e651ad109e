package lke

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// LKE may count slots of a pool that it does not list: on Enterprise those of new
// nodes, for about a minute. A machine that is not listed may be in one of them, but
// only in one of its own pool, whose number is in the name of its Node. Pools of
// others hide what they like.
//
// Unverified: that the number in the name of a Node is that of its pool.

// shown returns the machine with the instance; nil where the pools do not show it.
func (l *Machines) shown(pools []api.Pool, instance int) *karpv1.NodeClaim {
	for _, pool := range pools {
		for _, slot := range pool.Linodes {
			if slot.InstanceID == instance {
				return l.machine(pool, slot)
			}
		}
	}
	return nil
}

// poolThatMayHold returns the pool that may have the machine of a Node in a slot that it does
// not list. Where the pool of the Node is not known, that may be any.
func (l *Machines) poolThatMayHold(pools []api.Pool, node string) (api.Pool, bool) {
	number, _, known := SlotOf(l.cluster, node)
	i := slices.IndexFunc(pools, func(pool api.Pool) bool {
		return pool.Count > len(pool.Linodes) && (!known || pool.ID == number)
	})
	if i < 0 {
		return api.Pool{}, false
	}
	return pools[i], true
}

// nodeOf is the name of the Node with a provider id; "" where there is none.
func (l *Machines) nodeOf(ctx context.Context, providerID string) (string, error) {
	var nodes corev1.NodeList
	err := l.client.List(ctx, &nodes, client.MatchingFields{"spec.providerID": providerID},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return "", fmt.Errorf("list the Nodes with provider id %s: %w", providerID, err)
	}
	if len(nodes.Items) == 0 {
		return "", nil
	}
	return nodes.Items[0].Name, nil
}

// unlisted returns the machines of NodeClaims that are not listed and that LKE may hide.
func (l *Machines) unlisted(
	ctx context.Context, pools []api.Pool, listed map[string]bool,
) (machines []*karpv1.NodeClaim, err error) {
	if _, some := l.poolThatMayHold(pools, ""); !some {
		return nil, nil
	}
	var claims karpv1.NodeClaimList
	if err := l.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for i := range claims.Items {
		id, node := claims.Items[i].Status.ProviderID, claims.Items[i].Status.NodeName
		if nodeclaim.InstanceOf(id) == 0 || listed[id] {
			continue
		}
		if _, ok := l.poolThatMayHold(pools, node); ok {
			nc := &karpv1.NodeClaim{}
			nc.Name, nc.Status.ProviderID, nc.Status.NodeName = node, id, node
			machines = append(machines, nc)
		}
	}
	return machines, nil
}

// missing reports whether pools of LKE surely have no instance.
func missing(pools []api.Pool, instance int) bool {
	for _, p := range pools {
		if len(p.Linodes) != p.Count || slices.ContainsFunc(p.Linodes, func(s api.Slot) bool {
			return s.InstanceID == instance
		}) {
			return false
		}
	}
	return len(pools) > 0
}
