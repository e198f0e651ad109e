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

// TestPolicy evaluates a policy against plans. Without a plan, it is only checked.
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
			"simulate": config.Unsimulated(),
		})
	}
	if decided, diags := policy.Evaluate(plan(3), nil); !decided || len(diags) > 0 {
		t.Errorf("kept: %v", diags)
	}
	decided, diags := policy.Evaluate(plan(14), nil)
	if !decided || len(diags) != 1 || diags[0].Summary != "Policy violated" ||
		diags[0].Detail != "This change rolls 14 of 14 nodes. Split it." {
		t.Errorf("broken: %v", diags)
	}
	if decided, diags := policy.Evaluate(cty.EmptyObjectVal, nil); decided || len(diags) != 1 ||
		!strings.Contains(diags[0].Detail, "cannot be evaluated for this plan") {
		t.Errorf("of another form: %v", diags)
	}
	if decided, diags := policy.Evaluate(cty.UnknownVal(config.Type()), nil); decided || len(diags) > 0 {
		t.Errorf("of a plan that is not known: decided %v, %v", decided, diags)
	}
}

// TestPolicyAboutPodsNeedsSimulation: without a simulation, such a policy never passes, unless it
// tests for null itself.
func TestPolicyAboutPodsNeedsSimulation(t *testing.T) {
	none := cty.NumberIntVal(0)
	about := func(simulated cty.Value) cty.Value {
		values := map[string]cty.Value{"simulate": simulated}
		for group, ty := range config.Type().AttributeTypes() {
			if group != "simulate" {
				zeros := map[string]cty.Value{}
				for name := range ty.AttributeTypes() {
					zeros[name] = none
				}
				values[group] = cty.ObjectVal(zeros)
			}
		}
		return cty.ObjectVal(values)
	}
	unsimulated := about(config.Unsimulated())
	simulated := func(lost, delta int64) cty.Value {
		return about(cty.ObjectVal(map[string]cty.Value{
			"unschedulable": cty.NumberIntVal(lost),
			"cost":          numbers(map[string]int64{"before": 100, "after": 100 + delta, "delta": delta, "buffers": 24}),
		}))
	}
	const unknown, kept, lost = "No pods are simulated", "", "Policy violated"
	for condition, want := range map[string][3]string{ // without a simulation, satisfied, violated
		"plan.simulate.unschedulable == 0":                                   {unknown, kept, lost},
		`plan["simulate"]["unschedulable"] == 0`:                             {unknown, kept, lost},
		"plan.simulate.cost.delta < 10":                                      {unknown, kept, lost},
		"plan.simulate.cost.after <= 1.05 * plan.simulate.cost.before":       {unknown, kept, lost},
		"try(plan.simulate.unschedulable, 0) == 0":                           {unknown, kept, lost},
		"plan.objects.deleted == 0 || plan.simulate.unschedulable == 0":      {unknown, kept, kept},
		"plan.simulate == null || plan.simulate.unschedulable == 0":          {kept, kept, lost},
		"plan.simulate == null ? true : plan.simulate.unschedulable == 0":    {kept, kept, lost},
		"plan.simulate != null && plan.simulate.unschedulable == 0":          {lost, kept, lost},
		"plan.simulate.cost.after < 120 && plan.simulate.unschedulable == 0": {unknown, kept, lost},
		"plan.simulate != null":                                              {lost, kept, kept},
		"plan.objects.deleted == 0":                                          {kept, kept, kept},
	} {
		files := fstest.MapFS{"main.lke.hcl": {Data: []byte(cluster + `
policy "p" {
  condition     = ` + condition + `
  error_message = "It is not so."
}
`)}}
		compiled, diags, _ := compile(files, config.Options{})
		if len(diags) > 0 {
			t.Fatalf("%s: %v", condition, diags)
		}
		for i, plan := range []cty.Value{unsimulated, simulated(0, 0), simulated(3, 50)} {
			decided, diags := compiled.Policies[0].Evaluate(plan, nil)
			got := ""
			if len(diags) > 0 {
				got = diags[0].Summary
			}
			if got != want[i] || !decided {
				t.Errorf("%s, case %d: decided %v, %q, want %q", condition, i, decided, got, want[i])
			}
		}
	}
}
