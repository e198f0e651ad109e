package engine

import (
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Diff says what going from base to head does. Both must have compiled without
// errors.
func Diff(base, head Compiled) (plan.Plan, error) {
	return plan.Diff(objects(base), objects(head))
}

func objects(c Compiled) []plan.Object {
	objects := make([]plan.Object, len(c.Resources))
	for i, r := range c.Resources {
		objects[i] = plan.Object{Resource: r.Resource, Defaulted: r.Defaulted}
	}
	return objects
}
