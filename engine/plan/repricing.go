package plan

import (
	"maps"
	"reflect"
	"slices"

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
	// Judged is the same by catalog.Stricter of the two. Policies judge it too: a change cannot alter the prices and sizes
	// that it is judged by.
	Judged Cost
	// Facts are the plan types that pools allow, or allowed, and whose size or labels are others, by name.
	Facts []string
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

// Reprice compares the offers of two catalogues for the objects of a change, which is judged by a third.
func Reprice(objects []config.Object, before, after, judged []Offer) (r Repricing, err error) {
	head, err := sideOf(State{Objects: objects})
	if err != nil {
		return r, err
	}
	allowed := map[string]bool{}
	for _, o := range head.objects {
		if o.pool == nil {
			continue
		}
		for _, offer := range Admitted(slices.Concat(before, after), o.requirements()) {
			allowed[offer.Name] = true
		}
	}
	old, now := byName(before), byName(after)
	names := map[string]bool{}
	for _, o := range slices.Concat(before, after) {
		names[o.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, sold := old[name]
		is, still := now[name]
		c := PriceChange{name, priceOf(was, sold), priceOf(is, still)}
		switch {
		case c.Before != c.After && allowed[name]:
			r.Types = append(r.Types, c)
		case c.Before != c.After:
			r.Others++
		}
		if sold && still && allowed[name] && (was.MilliCPU != is.MilliCPU || was.MemoryBytes != is.MemoryBytes ||
			!reflect.DeepEqual(was.Requirements, is.Requirements)) {
			r.Facts = append(r.Facts, name)
		}
	}
	for _, of := range []struct {
		offers []Offer
		cost   *Cost
	}{{before, &r.Before}, {after, &r.After}, {judged, &r.Judged}} {
		if _, err := costsOf(head.objects, of.offers, of.cost); err != nil {
			return r, err
		}
	}
	return r, nil
}

func byName(offers []Offer) map[string]Offer {
	named := make(map[string]Offer, len(offers))
	for _, o := range offers {
		named[o.Name] = o
	}
	return named
}

// judgedAt are the plans that policies judge: this one, and this one by the stricter catalogue if that makes a difference.
func (p Plan) judgedAt() []Plan {
	plans := []Plan{p}
	for _, r := range p.Repriced {
		if r.Judged.Ceiling != r.After.Ceiling || r.Judged.Floor != r.After.Floor || r.Judged.FloorUnknown != r.After.FloorUnknown {
			stricter := p
			stricter.After = r.Judged
			plans = append(plans, stricter)
		}
	}
	return plans
}

// JudgePolicies asks the policies about the plan. If the change alters the catalogue, they are asked about the plan by the
// stricter of the two, too, and both have to pass.
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
				v.Detail += " This is by the catalogue before the change: merge the new one first."
				verdicts[j] = v
			}
		}
	}
	return verdicts, nil
}
