package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// cost computes the possible cost of all pools before and after, and the cost of the live nodes, and sets those of the
// changes.
func (p *Plan) cost(ctx context.Context, base, head side) error {
	before, err := costsOf(ctx, base.objects, base.Offers, &p.Before)
	if err != nil {
		return err
	}
	after, err := costsOf(ctx, head.objects, head.Offers, &p.After)
	if err != nil {
		return err
	}
	current, unknown := head.spent()
	p.Nodes, p.Counted = len(head.Nodes), head.Nodes != nil
	if p.Counted && len(unknown) == 0 {
		var all catalog.Money
		for _, m := range current {
			all += m
		}
		p.Current = &all
	}
	if types := slices.Sorted(maps.Values(unknown)); len(types) > 0 {
		p.Notes = append(p.Notes, "The price of "+strings.Join(slices.Compact(types), ", ")+
			" is unknown, so the cost of the live nodes is unknown. "+refresh)
	}
	if most := p.After.Ceiling; most.AtLeast && !most.Unlimited && len(p.Changes) > 0 {
		p.Notes = append(p.Notes, "The maximum cost of the pools is unknown and may be higher than shown: they allow plan "+
			"types whose price or size is not in the catalogue ("+head.unpriced()+"). "+refresh)
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		key := c.Key()
		if old, ok := before[key]; ok {
			c.Before = &old
		}
		if now, ok := after[key]; ok {
			c.After = &now
		}
		if c.Action == Forget { // its nodes stay and cost what they did
			c.After = c.Before
		}
		if _, unpriced := unknown[c.Name]; c.Kind == "NodePool" && p.Counted && !unpriced {
			now := current[c.Name]
			c.Current = &now
		}
	}
	return nil
}

// refresh says how to get prices that the catalogue does not have.
const refresh = "To update the catalogue, run \"lkeplan catalog refresh\"."

// unpriced names the plan types that pools allow and whose price or size is unknown.
func (s side) unpriced() string {
	unknown := slices.DeleteFunc(slices.Clone(s.Offers), func(o Offer) bool { return !o.Unknown })
	names := map[string]bool{}
	for _, o := range s.objects {
		if o.pool == nil {
			continue
		}
		for _, offer := range Admitted(unknown, o.requirements()) {
			names[offer.Name] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	if len(all) > 2 {
		return fmt.Sprintf("%s and %d others", all[0], len(all)-1)
	}
	return strings.Join(all, " and ")
}

// spent returns the monthly cost of the nodes of each pool, by its name, and the pools that have nodes of a plan
// type with an unknown price. A node without a plan type costs nothing yet.
func (s State) spent() (spent map[string]catalog.Money, unknown map[string]string) {
	prices := make(map[string]catalog.Money, len(s.Offers))
	for _, o := range s.Offers {
		if !o.Unknown {
			prices[o.Name] = o.Monthly
		}
	}
	spent, unknown = map[string]catalog.Money{}, map[string]string{}
	for _, n := range s.Nodes {
		planType := n.Labels[corev1.LabelInstanceTypeStable]
		monthly, known := prices[planType]
		if !known && s.Price != nil {
			monthly, known = s.Price(planType)
		}
		if !known && planType != "" {
			unknown[n.Pool] = planType
		}
		spent[n.Pool] += monthly
	}
	return spent, unknown
}
