package plan

import (
	"maps"
	"reflect"
	"slices"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Repricing is how a change alters the price catalogue. All other costs of the plan are at the new prices.
type Repricing struct {
	Directory string // set if there are several
	From, To  string // names of the catalogues, such as lkeplan.catalog of 2026-09-15
	// Types are the plan types that pools allow and whose price changes, by name.
	Types []PriceChange
	// Others counts the plan types with a new price that no pool allows.
	Others int
	// Before and After are the monthly cost of the head's pools at the old and the new prices.
	Before, After Cost
	// Judged is the cost with catalog.Stricter of the two. Policies evaluate it, too: a change cannot alter the prices and
	// sizes that it is evaluated with.
	Judged Cost
	// Facts are the plan types that pools allow, or allowed, and whose size or labels change, by name.
	Facts []string
}

// A PriceChange is the monthly price of a plan type before and after a change of the catalogue.
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

// Reprice compares the offers of two catalogues for the objects of a change. Judged are the offers for policies.
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

// judgedAt are the plans that policies evaluate: this one, and this one with the stricter catalogue if it differs.
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

// JudgePolicies evaluates the policies. If the change alters the catalogue, they are also evaluated with the stricter of
// the two catalogues, and both must pass.
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
				v.Detail += " This verdict uses the catalogue before the change; merge the new catalogue first."
				verdicts[j] = v
			}
		}
	}
	return verdicts, nil
}
