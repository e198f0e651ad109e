package compare

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// Measured says how far nodes match a configuration, regardless of the live objects.
type Measured struct {
	Rolling  []plan.Rolling  // of each pool of the configuration
	Nodes    []plan.Node     // of the cluster, with holds
	Outdated map[string]bool // nodes still to be replaced, by the names of their NodeClaims
}

// Against compares the nodes of a cluster with a configuration.
func Against(
	ctx context.Context, in View, head compile.Result, prices *catalog.Catalog, now time.Time,
) (Measured, error) {
	instancetype.Register()
	nodes, err := in.Nodes(ctx)
	if err != nil {
		return Measured{}, err
	}
	if nodes, _, err = in.Holds(ctx, nodes, nil, now); err != nil {
		return Measured{}, err
	}
	m := Measured{Nodes: nodes}
	s, err := plan.State{Objects: head.Objects, Offers: regionOffers(head.Cluster, prices), Nodes: nodes, Now: now}.Decode()
	if err != nil {
		return m, err
	}
	if m.Outdated, err = plan.Outdated(s); err != nil {
		return m, err
	}
	m.Rolling, err = plan.Rolls(s)
	return m, err
}

// Counts returns the number of nodes still to be replaced, by pool.
func (m Measured) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range m.Rolling {
		counts[r.Pool] = r.Outdated
	}
	return counts
}
