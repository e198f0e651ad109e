package compare

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Measured is how far nodes are what a configuration asks for, whatever the objects in the
// cluster ask for.
type Measured struct {
	Rolling  []plan.Rolling  // of each pool of the configuration
	Nodes    []plan.Node     // of the cluster, with what holds them
	Outdated map[string]bool // the nodes that are to be replaced, by the names of their NodeClaims
}

// Against measures the nodes of a cluster against a configuration.
func Against(
	ctx context.Context, in View, head compile.Result, prices *catalog.Catalog, now time.Time,
) (Measured, error) {
	linode.Register()
	nodes, err := in.Nodes(ctx)
	if err != nil {
		return Measured{}, err
	}
	if nodes, _, err = in.Holds(ctx, nodes, now); err != nil {
		return Measured{}, err
	}
	s := plan.State{Objects: head.Objects, Offers: offers(head.Cluster, prices), Nodes: nodes, Now: now}
	m := Measured{Nodes: nodes}
	if m.Outdated, err = plan.Outdated(s); err != nil {
		return m, err
	}
	m.Rolling, err = plan.Rolls(s)
	return m, err
}

// Counts says how many nodes of each pool are to be replaced, by name.
func (m Measured) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range m.Rolling {
		counts[r.Pool] = r.Outdated
	}
	return counts
}
