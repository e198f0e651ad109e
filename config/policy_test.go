package config_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config"
)

func numbers(values map[string]int64) cty.Value {
	fields := map[string]cty.Value{}
	for name, n := range values {
		fields[name] = cty.NumberIntVal(n)
	}
	return cty.ObjectVal(fields)
}

// TestPolicy evaluates a policy against plans: it is checked without one, and
// decided with one.
func TestPolicy(t *testing.T) {
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(cluster + `
policy "no_mass_roll" {
  condition     = plan.nodes.rolled <= 0.25 * plan.nodes.total
  error_message = "This change rolls ${plan.nodes.rolled} of ${plan.nodes.total} nodes. Split it."
}
`)}}
	compiled, diags, _ := compile(files, config.Options{})
	if len(diags) > 0 || len(compiled.Policies) != 1 {
		t.Fatalf("%d policies: %v", len(compiled.Policies), diags)
	}
	policy := compiled.Policies[0]
	plan := func(rolled int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"nodes":   numbers(map[string]int64{"total": 14, "created": 0, "deleted": 0, "rolled": rolled}),
			"objects": numbers(map[string]int64{"created": 0, "changed": 1, "deleted": 0}),
			"cost": cty.ObjectVal(map[string]cty.Value{
				"current": cty.NumberIntVal(100), "floor": cty.NumberIntVal(50), "ceiling": cty.NullVal(cty.Number),
			}),
		})
	}
	if decided, diags := policy.Evaluate(plan(3)); !decided || len(diags) > 0 {
		t.Errorf("kept: %v", diags)
	}
	decided, diags := policy.Evaluate(plan(14))
	if !decided || len(diags) != 1 || diags[0].Summary != "Policy broken" ||
		diags[0].Detail != "This change rolls 14 of 14 nodes. Split it." {
		t.Errorf("broken: %v", diags)
	}
	if decided, diags := policy.Evaluate(cty.EmptyObjectVal); decided || len(diags) != 1 ||
		!strings.Contains(diags[0].Detail, "cannot be applied to this plan") {
		t.Errorf("of another form: %v", diags)
	}
	if decided, diags := policy.Evaluate(cty.UnknownVal(config.PolicyInputType())); decided || len(diags) > 0 {
		t.Errorf("of a plan that is not known: decided %v, %v", decided, diags)
	}
}
