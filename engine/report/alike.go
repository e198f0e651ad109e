package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
)

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
		say(im.Known, im.Pace != nil)
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
