package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/schemas"
)

// Type is what policies know of a change. Nodes and objects are counted; a cost is in US
// dollars a month, as it is after the change, and null where nothing bounds it. What needs
// a cluster to be known is unknown without one, and what needs a simulation is null, so
// that a policy can ask whether there is one.
func Type() cty.Type {
	top := group{}
	for _, a := range schemas.PlanAttributes() {
		at := top
		for name := range strings.SplitSeq(a.Group, ".") {
			if at[name] == nil {
				at[name] = group{}
			}
			at = at[name]
		}
		at[a.Name] = nil
	}
	return top.attributes()
}

// group is numbers, which are nil, and other groups.
type group map[string]group

func (g group) attributes() cty.Type {
	if g == nil {
		return cty.Number
	}
	types := map[string]cty.Type{}
	for name, of := range g {
		types[name] = of.attributes()
	}
	return cty.Object(types)
}

// Unsimulated is what a plan has of pods where none are simulated.
func Unsimulated() cty.Value { return cty.NullVal(Type().AttributeType(schemas.Simulated)) }

// lacks reports whether an expression needs more than a plan says: it reads what becomes
// of pods, and none were simulated. One that asks whether there is any, and so says itself
// what holds then, lacks it only where it cannot be evaluated. No other falls back on
// something else, as try would have it.
func lacks(plan cty.Value, expr hcl.Expression, evaluated bool) bool {
	if !plan.IsKnown() || !plan.GetAttr(schemas.Simulated).IsNull() {
		return false
	}
	inside, itself := false, false
	for _, t := range expr.Variables() {
		if t.RootName() == "plan" && len(t) > 1 && isStep(t[1], schemas.Simulated) {
			inside, itself = inside || len(t) > 2, itself || len(t) == 2
		}
	}
	return inside && (!itself || !evaluated)
}

// isStep reports whether a step of a reference is of a name.
func isStep(step hcl.Traverser, name string) bool {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name == name
	case hcl.TraverseIndex:
		return step.Key.Type() == cty.String && step.Key.AsString() == name
	}
	return false
}
