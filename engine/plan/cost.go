package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/plan/price"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// cost adds up what all pools can cost, before and after, and what their nodes
// cost now, and notes it on the changes.
func (p *Plan) cost(base, head State) error {
	before, err := price.Of(base.Objects, base.Offers, &p.Before)
	if err != nil {
		return err
	}
	after, err := price.Of(head.Objects, head.Offers, &p.After)
	if err != nil {
		return err
	}
	current := head.spent()
	p.Nodes = len(head.Nodes)
	if head.Nodes != nil {
		var all catalog.Money
		for _, m := range current {
			all += m
		}
		p.Current = &all
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
		if now := current[c.Name]; c.Kind == "NodePool" && head.Nodes != nil {
			c.Current = &now
		}
	}
	return nil
}

// spent is what the nodes of each pool cost in a month, by the pool's name.
// Nodes of plans that are not offered any more are not in it.
func (s State) spent() map[string]catalog.Money {
	prices := make(map[string]catalog.Money, len(s.Offers))
	for _, o := range s.Offers {
		prices[o.Name] = o.Monthly
	}
	spent := map[string]catalog.Money{}
	for _, n := range s.Nodes {
		spent[n.Pool] += prices[n.Labels[corev1.LabelInstanceTypeStable]]
	}
	return spent
}
