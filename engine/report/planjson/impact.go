package planjson

import (
	"fmt"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// impact is the effect on the nodes of a pool, in JSON.
type impact struct {
	Certainty string        `json:"certainty" doc:"exact: the nodes were counted. static: no cluster was asked."`
	Nodes     *nodeCount    `json:"nodes,omitempty" doc:"Where a cluster was asked."`
	Upgrade   string        `json:"kubernetes_version,omitempty" doc:"Old and new version of the rolled nodes."`
	Budget    *budgetReport `json:"budget,omitempty" doc:"How the budgets spread a roll over time."`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
}

type nodeCount struct {
	Of        int `json:"of" doc:"Nodes of the pool."`
	Rolled    int `json:"rolled" doc:"Nodes that are replaced for the change."`
	Deleted   int `json:"deleted" doc:"Nodes that go at once, with the pool."`
	Removable int `json:"removable" doc:"Other nodes that Karpenter may remove or replace for the change."`
	Expiring  int `json:"expiring" doc:"Nodes that come to the end of their time within a week, past the budgets."`
}

type budgetReport struct {
	Now     int        `json:"allowed_now" doc:"Nodes that may go at this moment. Without a cluster, 1 says that some may."`
	Wave    int        `json:"per_wave" doc:"Nodes at a time, when the budgets next let any go; 0 without a cluster."`
	Waves   int        `json:"waves" doc:"Turns until all are replaced; 0 where they never are or were not counted."`
	Next    *time.Time `json:"next_window,omitempty" doc:"When nodes may next go, if none may now."`
	Never   bool       `json:"never" doc:"No node may go within a year."`
	Closed  []string   `json:"closed_by" doc:"The budgets that let none go at this moment."`
	Windows []window   `json:"windows" doc:"The next week, without gaps."`
}

type window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Nodes int       `json:"nodes" doc:"Nodes that may go at a time. Without a cluster, 1 says that some may."`
}

type hold struct {
	Reason plan.HoldReason `json:"reason"`
	Object string          `json:"object" doc:"What holds them; a sentence for limits."`
	Nodes  int             `json:"nodes" doc:"How many of the nodes it holds."`
}

// rolling is a pool whose nodes are still being replaced, or join.
type rolling struct {
	Address   string        `json:"address"`
	Name      string        `json:"name" doc:"Of the NodePool."`
	Of        int           `json:"of" doc:"Nodes of the pool."`
	Outdated  int           `json:"outdated" doc:"Nodes that are still to be replaced."`
	Joining   int           `json:"joining" doc:"Machines that are no nodes of the cluster yet."`
	Condemned *sentence     `json:"condemned,omitempty" doc:"Of a pool that is not declared any more, gives up its nodes, and is deleted after them."`
	Budget    *budgetReport `json:"budget,omitempty"`
	Holds     []hold        `json:"holds,omitempty" doc:"What keeps nodes from being replaced."`
}

// sentence is a pool that is being removed, as it was. Names of types are in the published schema.
type sentence struct {
	Since   *time.Time `json:"since,omitempty"`
	Nodes   int        `json:"nodes" doc:"That it had then."`
	Soonest *time.Time `json:"soonest_end,omitempty" doc:"When the last node can have gone by the budgets; left out where that is never, or not within a week."`
}

func sentenceOf(r plan.Rolling) *sentence {
	if r.Condemned == nil {
		return nil
	}
	s := &sentence{Since: moment(r.Condemned.Since), Nodes: r.Condemned.Nodes}
	if r.Pace != nil {
		s.Soonest = moment(r.Pace.Soonest(r.Of))
	}
	return s
}

func rollingOf(r plan.Rolling) rolling {
	return rolling{
		Address: r.Addr, Name: r.Pool, Of: r.Of, Outdated: r.Outdated, Joining: r.Joining,
		Condemned: sentenceOf(r), Budget: budgetOf(r.Pace), Holds: holdsOf(r.Holds),
	}
}

func budgetOf(p *plan.Pace) *budgetReport {
	if p == nil {
		return nil
	}
	b := &budgetReport{p.Now, p.Wave, p.Waves, moment(p.Next), p.Never, append([]string{}, p.Closed...), []window{}}
	for _, w := range p.Windows {
		b.Windows = append(b.Windows, window{w.From.UTC(), w.Until.UTC(), w.Nodes})
	}
	return b
}

func holdsOf(held []plan.Held) (holds []hold) {
	for _, h := range held {
		holds = append(holds, hold{h.Reason, h.Object, h.Nodes})
	}
	return holds
}

func impactOf(im *plan.Impact) *impact {
	if im == nil {
		return nil
	}
	r := &impact{Certainty: "static", Upgrade: im.Upgrade}
	if im.Known {
		r.Certainty = "exact"
		r.Nodes = &nodeCount{im.Of, im.Rolled, im.Deleted, im.Removable, im.Expiring}
	}
	r.Budget, r.Holds = budgetOf(im.Pace), holdsOf(im.Holds)
	return r
}

// amount is money as a decimal of dollars, which no reader makes a float of by
// accident.
type amount string

// Dollars writes money as a decimal of dollars with two places.
func Dollars(m catalog.Money) string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	cents := (m + catalog.Dollar/200) / (catalog.Dollar / 100)
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

func amountOf(m catalog.Money) *amount {
	a := amount(Dollars(m))
	return &a
}

const (
	unlimited amount = "unlimited"
	unknown   amount = "unknown"
)

// cost is what pools cost, in JSON.
type cost struct {
	Currency  string      `json:"currency" doc:"Always USD."`
	Monthly   monthlyCost `json:"monthly"`
	LimitedBy []string    `json:"limited_by" doc:"The limits that hold ceiling_after where it is: cpu, memory and nodes of the pool, and addresses of limits blocks."`
}

type monthlyCost struct {
	Current        *amount `json:"current" doc:"Of the nodes there are; null where no cluster was asked."`
	FloorBefore    *amount `json:"floor_before" doc:"Of the nodes that are always there; null where there was no pool; unknown where the price of one is."`
	FloorAfter     *amount `json:"floor_after"`
	CeilingBefore  *amount `json:"ceiling_before" doc:"The most that the limits allow; null where there was no pool; unknown where a pool allows a plan whose price is not known."`
	CeilingAfter   *amount `json:"ceiling_after"`
	UncappedBefore *amount `json:"ceiling_uncapped_before" doc:"The ceiling that the limits of pools alone give, without limits blocks."`
	UncappedAfter  *amount `json:"ceiling_uncapped_after"`
}

// costsOf are the costs of all pools of a plan.
func costsOf(p plan.Plan) *cost {
	if p.Incomplete {
		return costOf(nil, nil, nil)
	}
	return costOf(&p.Before, &p.After, p.Current)
}

func costOf(before, after *plan.Cost, current *catalog.Money) *cost {
	c := &cost{Currency: "USD", LimitedBy: []string{}}
	if current != nil {
		c.Monthly.Current = amountOf(*current)
	}
	bounds := func(c *plan.Cost) (floor, ceiling, uncapped *amount) {
		if c == nil {
			return nil, nil, nil
		}
		floor = amountOf(c.Floor)
		if c.FloorUnknown {
			*floor = unknown
		}
		return floor, ceilingOf(c.Ceiling), ceilingOf(c.Uncapped())
	}
	c.Monthly.FloorBefore, c.Monthly.CeilingBefore, c.Monthly.UncappedBefore = bounds(before)
	c.Monthly.FloorAfter, c.Monthly.CeilingAfter, c.Monthly.UncappedAfter = bounds(after)
	if after != nil {
		c.LimitedBy = append(c.LimitedBy, after.By...)
	}
	return c
}

func ceilingOf(c plan.Ceiling) *amount {
	a := amountOf(c.Monthly)
	switch {
	case c.Unlimited:
		*a = unlimited
	case c.AtLeast:
		*a = unknown
	}
	return a
}

// resourceDrift is what others did to one object, in the shape of a change.
type resourceDrift struct {
	Address string         `json:"address"`
	Mode    string         `json:"mode" doc:"Always managed."`
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Object  object         `json:"object"`
	Change  alteration     `json:"change" doc:"Of the drifted fields only: from what was applied to what is live."`
	Fields  []driftedField `json:"fields"`
}

type driftedField struct {
	Path    string   `json:"path"`
	Applied any      `json:"applied" doc:"Null where nothing was applied."`
	Live    any      `json:"live"`
	Owners  []string `json:"owners" doc:"Who has set it: field managers."`
	Kept    bool     `json:"kept" doc:"An apply leaves it so. Otherwise it is refused."`
	Detail  string   `json:"detail,omitempty" doc:"What follows from it, in sentences."`
}

// driftOf joins the fields of each object. They come sorted by address.
func driftOf(fields []plan.Drift) []resourceDrift {
	list := []resourceDrift{}
	for _, d := range fields {
		last := len(list) - 1
		if last < 0 || list[last].Address != d.Addr || list[last].Object.Kind != d.Kind {
			list = append(list, resourceDrift{
				Address: d.Addr, Mode: "managed", Type: schemas.TypeOf(d.Kind), Name: d.Name,
				Object: object{Kind: d.Kind, Name: d.Name},
			})
			last++
		}
		list[last].Fields = append(list[last].Fields, driftedField{
			d.Path, d.Applied, d.Live, append([]string{}, d.Owners...), d.Kept, d.Detail,
		})
	}
	for i := range list {
		list[i].Change = alterationOf(list[i].Fields)
	}
	return list
}

// alterationOf is the part of an object that drifted fields are, before and after.
func alterationOf(fields []driftedField) alteration {
	a := alteration{Actions: []plan.Action{plan.Update}, Before: map[string]any{}, After: map[string]any{}}
	for _, f := range fields {
		nest(a.Before, f.Path, f.Applied)
		nest(a.After, f.Path, f.Live)
	}
	return a
}

// nest puts the value of a path into an object: spec.limits.cpu. What is in
// brackets is the key of a map, or names elements of a list.
func nest(into map[string]any, path string, v any) {
	if v == nil {
		return
	}
	path, key, inBrackets := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	keys := strings.Split(path, ".")
	elements, ofList := v.([]any)
	if inBrackets && !ofList {
		keys = append(keys, key)
	}
	last := len(keys) - 1
	parent := manifest.Ensure(into, keys[:last]...)
	if inBrackets && ofList {
		same, _ := parent[keys[last]].([]any)
		v = append(same, elements...)
	}
	parent[keys[last]] = v
}
