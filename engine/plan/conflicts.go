package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Conflict is a field that another owner has set, so that an apply is refused.
type Conflict = manifest.Conflict

// TakeBack removes the conflicts of the named fields, as ADDRESS:PATH or as a path in any object, and returns them by
// object: apply takes them from their owners. A name that is not in conflict is an error: it was meant for another plan.
func (p *Plan) TakeBack(names []string) (map[manifest.Key][]Conflict, error) {
	taken, named := map[manifest.Key][]Conflict{}, map[string]bool{}
	changes := slices.Clone(p.Changes)
	for i := range changes {
		c := &changes[i]
		var left []Conflict
		for _, found := range c.Conflicts {
			name := c.Addr + ":" + found.Path
			j := slices.IndexFunc(names, func(n string) bool { return n == name || n == found.Path })
			switch {
			case j < 0:
				left = append(left, found)
				continue
			case found.Holder != "":
				return nil, fmt.Errorf("--force-conflicts %s: the NodePlan %s manages %s and would revert the change; commit the "+
					"change to the source of the NodePlan instead", names[j], found.Holder, c.Key())
			}
			named[names[j]] = true
			taken[c.Key()] = append(taken[c.Key()], found)
		}
		c.Conflicts = left
	}
	for _, name := range names {
		if !named[name] {
			return nil, fmt.Errorf("--force-conflicts %s: %s", name, p.contested())
		}
	}
	p.Changes = changes
	return taken, nil
}

// contested lists the fields that can be taken back.
func (p Plan) contested() string {
	var names []string
	for _, c := range p.Changes {
		for _, found := range c.Conflicts {
			names = append(names, c.Addr+":"+found.Path)
		}
	}
	if len(names) == 0 {
		return "no field of this plan is in conflict"
	}
	return "this field is not in conflict; fields in conflict: " + strings.Join(names, ", ")
}
