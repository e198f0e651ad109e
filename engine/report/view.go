package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// view is the content of text, Markdown and HTML reports: rows, and sentences with values that are escaped for the
// format. It is built once; the writers lay it out.
type view struct {
	Report
	Versus  string // the compared revisions; "" if unknown
	Entries []entryView
	Drifted []driftRow
	Guards  []guardRow // that did not pass
	Pools   []poolRow  // whose nodes are still draining, joining or being replaced
	Pods    *workloadView
	Missing []string // what could not be checked
}

// entryView is one object of a plan, or several that change in the same way.
type entryView struct {
	entry
	Addr, Place string
	Others      string // the other objects that change in the same way; "" for none
	Headline    string
	Consequence string   // "" if nothing is known about nodes
	Obstacles   []string // what blocks nodes, and which nodes expire
	Conflicts   []string
	Fields      []fieldRow
	Costs       []textRow
}

// fieldRow is one field of an object.
type fieldRow struct {
	Sign                string // of a diff line
	Path, Before, After string
	Does                string // the effect on nodes; "" for new objects
	Effect              plan.Effect
	Place               string
}

// tones are how bad the effects are, for colors.
var tones = map[plan.Effect]string{plan.MayRemove: "warn", plan.Roll: "warn", plan.DeleteNodes: "bad"}

// driftRow is one field that others have set.
type driftRow struct {
	plan.Drift
	Addr, Path, Before, After, By, Apply string
}

// guardRow is the verdict of a guard.
type guardRow struct {
	plan.Verdict
	Text, Place string
}

// poolRow is how far the nodes of a pool match it.
type poolRow struct {
	Addr, Progress string
	Obstacles      []string
}

// view builds the view of a report. With all, each object has a separate entry. Path is that of Options.
func (v escaper) view(r Report, all bool, path func(string) string) view {
	view := view{Report: r, Versus: v.versus(r), Pods: v.workloadView(r.Workloads, mostLost)}
	for _, e := range joinEntries(r.Changes, all) {
		row := v.entry(e, path)
		if r.Waves && slices.ContainsFunc(e.All(), func(c plan.Change) bool { return c.Loosens }) {
			row.Obstacles = append(row.Obstacles, "a first wave does not hold the nodes that Karpenter removes or replaces because other "+
				"capacity is cheaper or has room: they go as soon as the other objects are applied, within the budgets of the pool")
		}
		if e.SwitchesStatic() {
			row.Obstacles = append(row.Obstacles, "the API server refuses this update: an existing NodePool cannot become static or "+
				"dynamic; declare a pool with another name, and remove this one after that")
		}
		view.Entries = append(view.Entries, row)
	}
	for _, d := range r.Drift {
		row := driftRow{Drift: d, Addr: v(d.Addr), Path: fieldPath(schemas.TypeOf(d.Kind), d.Path), By: v.list(d.Owners), Apply: "apply is refused"}
		row.Before, row.After = valueText(d.Path, d.Applied), valueText(d.Path, d.Live)
		if d.Live == nil {
			row.After = "removed"
		}
		if d.Kept {
			row.Apply = "apply keeps it"
		}
		view.Drifted = append(view.Drifted, row)
	}
	for _, d := range r.Verdicts {
		if d.Status != plan.Passed {
			view.Guards = append(view.Guards, guardRow{d, v.verdict(d), sourcePlace(d.Source, path)})
		}
	}
	for _, p := range r.Rolling {
		state, blocked := p.Progress(v)
		view.Pools = append(view.Pools, poolRow{v(p.Addr), state, blocked})
	}
	for _, text := range r.Notes {
		view.Missing = append(view.Missing, v(text))
	}
	return view
}

func (v escaper) entry(e entry, path func(string) string) entryView {
	row := entryView{
		entry: e, Addr: v(e.Addr), Place: sourcePlace(e.Source, path), Others: v.furtherObjects(e), Headline: v.headline(e.Change),
		Consequence: v.consequenceOf(e), Costs: costRows(e.Change),
	}
	if im := e.Impacts(); im != nil {
		row.Obstacles = im.Obstacles(v)
	}
	for _, c := range e.All() {
		row.Obstacles = append(row.Obstacles, v.moves(c.Impact)...)
		if c.Impact != nil {
			row.Obstacles = append(row.Obstacles, c.Impact.Refresh.Lines(v)...)
		}
	}
	for _, text := range e.Attracts {
		row.Obstacles = append(row.Obstacles, v(text))
	}
	if e.Successor != "" {
		row.Obstacles = append(row.Obstacles, v(fmt.Sprintf("%s is a new pool with the same template; a moved block from %s to %s "+
			"keeps the object and its nodes", e.Successor, e.Addr, e.Successor)))
	}
	for _, found := range e.Conflicts {
		row.Conflicts = append(row.Conflicts, v.conflict(found))
	}
	for _, f := range e.Fields {
		if e.Action == plan.Create && isImplied(f) {
			continue
		}
		field := fieldRow{Sign: "!", Path: fieldPath(e.Block, f.Path), Does: fieldEffect(f), Effect: f.Effect, Place: sourcePlace(f.Source, path)}
		field.Before, field.After = fieldValues(f)
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

// isImplied reports whether a field of a new pool follows from its node_class, so that the HCL does not contain it.
func isImplied(f plan.Field) bool {
	switch f.Path {
	case "spec.template.spec.nodeClassRef.group":
		return f.After == schemas.NodeClassGroup
	case "spec.template.spec.nodeClassRef.kind":
		return f.After == "LinodeNodeClass"
	}
	return false
}

// entry is one object of a plan, or several that change in the same way.
type entry struct {
	plan.Change               // of the first
	More        []plan.Change // of the others
}

// fewest is how many objects with the same change share one entry.
const fewest = 4

// joinEntries joins objects with the same change in one entry, at the place of the first one. With all, each object
// has a separate entry.
func joinEntries(changes []plan.Change, all bool) (list []entry) {
	count, at := map[string]int{}, map[string]int{}
	keys := make([]string, len(changes))
	for i, c := range changes {
		if all || len(c.Conflicts) > 0 || c.Previous != "" {
			keys[i] = fmt.Sprint(i)
		} else {
			keys[i] = changeKey(c)
		}
		count[keys[i]]++
	}
	for i, c := range changes {
		key := keys[i]
		if first, seen := at[key]; seen && count[key] >= fewest {
			list[first].More = append(list[first].More, c)
			continue
		}
		at[key] = len(list)
		list = append(list, entry{Change: c})
	}
	return list
}

// changeKey is equal for objects whose fields change in the same way, at the same cost, and whose budgets allow
// disruptions at the same times.
func changeKey(c plan.Change) string {
	var b strings.Builder
	add := func(values ...any) { fmt.Fprintf(&b, "%q ", fmt.Sprint(values...)) }
	add(c.Kind)
	add(c.Action)
	add(c.Effect, c.Partial, c.Prune, c.Loosens, c.Successor)
	for _, text := range slices.Concat(c.Because, c.Attracts) {
		add(text)
	}
	for _, f := range c.Fields {
		add(f.Path)
		add(literalText(f.Before)) // in which a number differs from its text
		add(literalText(f.After))
		add(f.Effect, f.Partial)
	}
	for _, cost := range []*plan.Cost{c.Before, c.After} {
		add(cost != nil)
		if cost != nil {
			add(*cost)
		}
	}
	if im := c.Impact; im != nil {
		add(im.Known, im.Pace != nil, c.Effect == plan.DeleteNodes && im.Of == 0)
		if p := im.Pace; p != nil {
			add(p.Now > 0, p.Never, p.Next)
			add(p.Closed)
		}
	}
	return b.String()
}

// All returns the changes of an entry.
func (e entry) All() []plan.Change { return append([]plan.Change{e.Change}, e.More...) }

// Impacts returns the effect on the nodes of all objects of an entry.
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
