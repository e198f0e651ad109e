package compare

import (
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Costs returns the range of the monthly cost of each pool of a configuration, by the name of the NodePool.
func Costs(of compile.Result, prices *catalog.Catalog) (map[string]plan.Cost, error) {
	linode.Register()
	p, err := plan.Diff(plan.State{}, plan.State{Objects: of.Objects, Offers: offersFor(of, prices)})
	if err != nil {
		return nil, err
	}
	costs := map[string]plan.Cost{}
	for _, c := range p.Changes {
		if c.Kind == "NodePool" && c.After != nil {
			costs[c.Name] = *c.After
		}
	}
	return costs, nil
}
