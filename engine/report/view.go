package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// view is what text, Markdown and HTML say of a plan: rows, and sentences in which what comes from
// the configuration or the cluster is escaped for the format. It is built once; the writers lay it out.
type view struct {
	Report
	Versus  string // what is compared with what; "" if that is not known
	Entries []entryView
	Drifted []driftRow
	Guards  []guardRow // that have something to say
	Pools   []poolRow  // whose nodes are still being replaced, or join
	Prices  []priceView
	Pods    *workloadView
	Missing []string // what could not be checked
}

// entryView is one object of a plan, or several that change in the same way.
type entryView struct {
	entry
	Addr, Place string
	Others      string // which objects change in the same way; "" for none
	Headline    string
	Consequence string   // "" where nothing is known of nodes
	Obstacles   []string // what holds nodes, and what takes them past the budgets
	Conflicts   []string
	Fields      []fieldRow
	Costs       []textRow
}

// fieldRow is one field of an object.
type fieldRow struct {
	Sign                string // as diffs have it
	Path, Before, After string
	Does                string // to nodes; "" for new objects
	Effect              plan.Effect
	Place               string
}

// driftRow is one field that others have set.
type driftRow struct {
	plan.Drift
	Addr, Path, Before, After, By, Apply string
}

// guardRow is what a guard says.
type guardRow struct {
	plan.Verdict
	Text, Place string
}

// priceView is what a change does to the prices of a catalogue.
type priceView struct {
	Catalogs string // before and after
	Rows     []priceRow
	Sums     []string
}

// priceRow is a plan type with another price a month.
type priceRow struct{ Type, Before, After string }

func (v escaper) prices(r plan.Repricing) priceView {
	view := priceView{Catalogs: v(r.From) + " → " + v(r.To)}
	if r.Directory != "" {
		view.Catalogs = v(r.Directory) + ": " + view.Catalogs
	}
	for _, t := range r.Types {
		view.Rows = append(view.Rows, priceRow{v(t.Type), t.Before.String(), t.After.String()})
	}
	sum := "By the new catalogue alone, all pools cost at most " + ceilings(&r.Before, &r.After) + " a month"
	if text := floors(&r.Before, &r.After); text != "" {
		sum += ", and at least " + text
	}
	view.Sums = append(view.Sums, sum+".")
	if len(r.Facts) > 0 {
		view.Sums = append(view.Sums, "Plan types with another size, class or other labels: "+v.list(r.Facts)+".")
	}
	if r.Others > 0 {
		view.Sums = append(view.Sums, fmt.Sprintf("Other plan types with a new price, which no pool allows: %d.", r.Others))
	}
	return view
}

// poolRow is how far the nodes of a pool are.
type poolRow struct {
	Addr, Progress string
	Obstacles      []string
}

// view builds the view of a report. With all, each object is an entry of its own.
func (v escaper) view(r Report, all bool) view {
	view := view{Report: r, Versus: v.versus(r), Pods: v.workloadView(r.Workloads, mostLost)}
	for _, e := range entries(r.Changes, all) {
		view.Entries = append(view.Entries, v.entry(e))
	}
	for _, d := range r.Drift {
		row := driftRow{Drift: d, Addr: v(d.Addr), Path: fieldPath(schemas.TypeOf(d.Kind), d.Path), By: v.list(d.Owners), Apply: "apply is refused"}
		row.Before, row.After = valueText(d.Path, d.Applied), valueText(d.Path, d.Live)
		if d.Kept {
			row.Apply = "apply leaves it so"
		}
		view.Drifted = append(view.Drifted, row)
	}
	for _, d := range r.Verdicts {
		if d.Status != plan.Passed {
			view.Guards = append(view.Guards, guardRow{d, v.verdict(d), at(d.Source)})
		}
	}
	for _, p := range r.Rolling {
		view.Pools = append(view.Pools, poolRow{v(p.Addr), v.progress(p), v.obstacles(&plan.Impact{Holds: p.Holds})})
	}
	for _, repriced := range r.Repriced {
		view.Prices = append(view.Prices, v.prices(repriced))
	}
	for _, text := range r.Notes {
		view.Missing = append(view.Missing, v(text))
	}
	return view
}

func (v escaper) entry(e entry) entryView {
	row := entryView{
		entry: e, Addr: v(e.Addr), Place: at(e.Source), Others: v.others(e), Headline: v.headline(e.Change),
		Consequence: v.consequenceOf(e), Obstacles: v.obstacles(e.Impacts()), Costs: costRows(e.Change),
	}
	for _, found := range e.Conflicts {
		row.Conflicts = append(row.Conflicts, v.conflict(found))
	}
	for _, f := range e.Fields {
		field := fieldRow{Sign: "!", Path: fieldPath(e.Block, f.Path), Does: effect(f), Effect: f.Effect, Place: at(f.Source)}
		field.Before, field.After = valueText(f.Path, f.Before), valueText(f.Path, f.After)
		switch {
		case f.Before == nil:
			field.Sign = "+"
		case f.After == nil:
			field.Sign = "-"
		}
		if e.Action == plan.Create {
			field.Does = ""
		}
		row.Fields = append(row.Fields, field)
	}
	return row
}

// entry is one object of a plan, or several that change in the same way.
type entry struct {
	plan.Change               // of the first
	More        []plan.Change // of the others
}

// fewest is how many objects with the same change are worth one entry.
const fewest = 4

// entries joins objects with the same change in one entry, in the place of the
// first of them; with all, each is an entry of its own.
func entries(changes []plan.Change, all bool) (list []entry) {
	count, at := map[string]int{}, map[string]int{}
	keys := make([]string, len(changes))
	for i, c := range changes {
		if all || len(c.Conflicts) > 0 || c.Previous != "" {
			keys[i] = fmt.Sprint(i)
		} else {
			keys[i] = sameness(c)
		}
		count[keys[i]]++
	}
	for i, c := range changes {
		key := keys[i]
		if first, begun := at[key]; begun && count[key] >= fewest {
			list[first].More = append(list[first].More, c)
			continue
		}
		at[key] = len(list)
		list = append(list, entry{Change: c})
	}
	return list
}

// sameness is equal for objects that change in the same fields, by the same
// values, at the same cost, and whose nodes may go at the same times.
func sameness(c plan.Change) string {
	var b strings.Builder
	say := func(values ...any) { fmt.Fprintf(&b, "%q ", fmt.Sprint(values...)) }
	say(c.Kind)
	say(c.Action)
	say(c.Effect, c.Partial, c.Prune, c.Loosens)
	for _, addr := range c.Because {
		say(addr)
	}
	for _, f := range c.Fields {
		say(f.Path)
		say(jsonOf(f.Before))
		say(jsonOf(f.After))
		say(f.Effect, f.Partial)
	}
	for _, cost := range []*plan.Cost{c.Before, c.After} {
		say(cost != nil)
		if cost != nil {
			say(*cost)
		}
	}
	if im := c.Impact; im != nil {
		say(im.Known, im.Pace != nil, c.Effect == plan.DeleteNodes && im.Of == 0)
		if p := im.Pace; p != nil {
			say(p.Now > 0, p.Never, p.Next)
			say(p.Closed)
		}
	}
	return b.String()
}

// All are the changes of an entry.
func (e entry) All() []plan.Change { return append([]plan.Change{e.Change}, e.More...) }

// Impacts is the effect on the nodes of all objects of an entry together.
func (e entry) Impacts() *plan.Impact {
	if e.Impact == nil || len(e.More) == 0 {
		return e.Impact
	}
	sum := plan.Impact{Known: e.Impact.Known, Pace: e.Impact.Pace, Elsewhere: e.Impact.Elsewhere}
	for _, c := range e.All() {
		sum.Of, sum.Rolled, sum.Deleted = sum.Of+c.Impact.Of, sum.Rolled+c.Impact.Rolled, sum.Deleted+c.Impact.Deleted
		sum.Expiring, sum.Removable = sum.Expiring+c.Impact.Expiring, sum.Removable+c.Impact.Removable
		for _, h := range c.Impact.Holds {
			same := func(other plan.Held) bool { return other.Hold == h.Hold }
			if i := slices.IndexFunc(sum.Holds, same); i >= 0 {
				sum.Holds[i].Nodes += h.Nodes
				sum.Holds[i].On = slices.Concat(sum.Holds[i].On, h.On)
			} else {
				sum.Holds = append(sum.Holds, h)
			}
		}
	}
	return &sum
}

// jsonOf writes a JSON value: a number is another one than its text.
func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
