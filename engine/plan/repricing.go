package plan

import (
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Repricing is what a change does to the catalogue that costs are worked out with. All other costs of the plan are
// at the prices after the change.
type Repricing struct {
	Directory string // if there are several
	From, To  string // the catalogues, as they stand in a sentence: lkeplan.catalog of 2026-09-15
	// Types are the plan types that pools allow and whose price is another one, by name.
	Types []PriceChange
	// Others is how many plan types have another price in the region, and no pool allows them.
	Others int
	// Before and After are what the pools of the change cost in a month, at the prices before and after it.
	Before, After Cost
	// Highest is the same, each plan type at the higher of its prices. Policies judge it too: a change cannot lower the
	// prices that it is judged by.
	Highest Cost
}

// A PriceChange is the price of a plan type in a month, before and after a change of the catalogue.
type PriceChange struct {
	Type          string
	Before, After OfferedPrice
}

// An OfferedPrice is the price of a plan type in the region of a cluster.
type OfferedPrice struct {
	Monthly catalog.Money
	Known   bool // the region sells the plan type, and its price and size are known
	Sold    bool
}

func (p OfferedPrice) String() string {
	switch {
	case p.Known:
		return p.Monthly.Text()
	case p.Sold:
		return "unknown"
	}
	return "not sold"
}

func priceOf(o Offer, sold bool) OfferedPrice {
	if o.Unknown {
		return OfferedPrice{Sold: true}
	}
	return OfferedPrice{Monthly: o.Monthly, Known: sold, Sold: sold}
}

// Reprice compares the offers of two catalogues for the objects of a change.
func Reprice(objects []config.Object, before, after []Offer) (r Repricing, err error) {
	head, err := sideOf(State{Objects: objects})
	if err != nil {
		return r, err
	}
	was := map[string]Offer{}
	for _, o := range before {
		was[o.Name] = o
	}
	var changed []PriceChange
	admissible := slices.Clone(after)
	highest := slices.Clone(after)
	for i, now := range highest {
		old, sold := was[now.Name]
		delete(was, now.Name)
		if c := (PriceChange{now.Name, priceOf(old, sold), priceOf(now, true)}); c.Before != c.After {
			changed = append(changed, c)
		}
		if sold && !old.Unknown && !now.Unknown && old.Monthly > now.Monthly {
			highest[i].Monthly = old.Monthly
		}
	}
	for _, gone := range was {
		changed = append(changed, PriceChange{Type: gone.Name, Before: priceOf(gone, true)})
		admissible = append(admissible, gone)
	}
	slices.SortFunc(changed, func(a, b PriceChange) int { return strings.Compare(a.Type, b.Type) })
	allowed := map[string]bool{}
	for _, o := range head.objects {
		if o.pool == nil {
			continue
		}
		for _, offer := range Admitted(admissible, o.requirements()) {
			allowed[offer.Name] = true
		}
	}
	for _, c := range changed {
		if allowed[c.Type] {
			r.Types = append(r.Types, c)
		} else {
			r.Others++
		}
	}
	for _, of := range []struct {
		offers []Offer
		cost   *Cost
	}{{before, &r.Before}, {after, &r.After}, {highest, &r.Highest}} {
		if _, err := costsOf(head.objects, of.offers, of.cost); err != nil {
			return r, err
		}
	}
	return r, nil
}

// judgedAt are the plans that policies judge: this one, and if the change lowers prices, this one at the higher of the
// prices before and after it.
func (p Plan) judgedAt() []Plan {
	plans := []Plan{p}
	for _, r := range p.Repriced {
		if r.Highest.Ceiling != r.After.Ceiling || r.Highest.Floor != r.After.Floor {
			higher := p
			higher.After = r.Highest
			plans = append(plans, higher)
		}
	}
	return plans
}

// JudgePolicies asks the policies about the plan. If the change lowers prices, they are asked about the plan at the
// higher prices, too, and both have to pass.
func (p Plan) JudgePolicies(ask func(Plan) ([]Verdict, error)) ([]Verdict, error) {
	var verdicts []Verdict
	for i, judged := range p.judgedAt() {
		more, err := ask(judged)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			verdicts = more
			continue
		}
		for j, v := range more {
			if v.Status == Blocked && verdicts[j].Status != Blocked {
				v.Detail += " This is at the prices before the change, which lowers them: merge the new prices first."
				verdicts[j] = v
			}
		}
	}
	return verdicts, nil
}
