package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/plan/price"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Revisions says what going from base to head does, at the prices of a catalogue, and
// when the budgets let it happen from a moment on. Both must have compiled
// without errors; one that is empty is a directory that is not there.
func Revisions(base, head compile.Result, prices *catalog.Catalog, now time.Time) (plan.Plan, error) {
	linode.Register()
	return plan.Diff(statesOf(base, head, prices, now))
}

// RevisionsAmong is Revisions on nodes that no cluster has: simulated ones.
func RevisionsAmong(base, head compile.Result, nodes []plan.Node, prices *catalog.Catalog, now time.Time) (plan.Plan,
	error) {
	linode.Register()
	before, after := statesOf(base, head, prices, now)
	before.Nodes, after.Nodes = nodes, nodes
	return plan.Diff(before, after)
}

// statesOf are the states before and after a change of a configuration.
func statesOf(base, head compile.Result, prices *catalog.Catalog, now time.Time) (before, after plan.State) {
	head.Objects = Spelled(head.Objects, base.Objects)
	return stateOf(base, prices, now), stateOf(head, prices, now)
}

// Spelled returns the objects of head as kube.Spelled says those of base: package plan
// compares values to the letter.
func Spelled(head, base []config.Object) []config.Object {
	before := make(map[manifest.Key]map[string]any, len(base))
	for _, o := range base {
		before[o.Key()] = o.Defaulted
	}
	return spelledAs(head, before)
}

func spelledAs(objects []config.Object, before map[manifest.Key]map[string]any) []config.Object {
	objects = slices.Clone(objects)
	for i, o := range objects {
		if there := before[o.Key()]; there != nil {
			objects[i].Defaulted = kube.Spelled(o.Defaulted, there)
		}
	}
	return objects
}

func stateOf(c compile.Result, prices *catalog.Catalog, now time.Time) plan.State {
	return plan.State{
		Objects: c.Objects, PruneNow: c.Guards.PruneNow, Removed: c.Removed, Offers: offers(c.Cluster, prices), Now: now,
	}
}

// offers are the plans that the cluster's region sells.
func offers(cluster config.Cluster, prices *catalog.Catalog) []price.Offer {
	tier := catalog.Tier(cmp.Or(cluster.Tier, string(catalog.Standard)))
	var offers []price.Offer
	for _, it := range instancetype.New(prices, cluster.Region, tier).List() {
		if len(it.Offerings.Available()) == 0 {
			continue
		}
		sold, _ := prices.Price(it.Name, cluster.Region)
		offers = append(offers, price.Offer{
			Name:         it.Name,
			Requirements: it.Requirements,
			MilliCPU:     it.Capacity.Cpu().MilliValue(),
			MemoryBytes:  it.Capacity.Memory().Value(),
			Monthly:      sold.PerMonth(),
		})
	}
	return offers
}
