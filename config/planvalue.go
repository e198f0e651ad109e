package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// Type is the type of a change in policies. Numbers of nodes and objects are counts. A cost is
// monthly, in US dollars, and null if it has no limit. Numbers that require a cluster are unknown
// without one. Results of a simulation are null without one, so a policy can test for it.
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

// group is a group of numbers, which are nil, and of other groups.
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

// Unsimulated is the result of a simulation if no pods are simulated.
func Unsimulated() cty.Value { return cty.NullVal(Type().AttributeType(schemas.Simulated)) }

// lacksPlanValues reports whether an expression needs values that a plan does not have: it reads results of a
// simulation, and no pods were simulated. An expression that tests for a simulation handles that
// case itself, and lacks values only if it cannot be evaluated. Other expressions cannot use a
// fallback, as try would.
func lacksPlanValues(plan cty.Value, expr hcl.Expression, evaluated bool) bool {
	if !plan.IsKnown() || !plan.GetAttr(schemas.Simulated).IsNull() {
		return false
	}
	inside, itself := false, false
	for _, t := range expr.Variables() {
		if name, _, ok := eval.SecondName(t); ok && t.RootName() == "plan" && name == schemas.Simulated {
			inside, itself = inside || len(t) > 2, itself || len(t) == 2
		}
	}
	return inside && (!itself || !evaluated)
}
