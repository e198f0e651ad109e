package plan

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// JudgePolicies evaluates policies on a plan, as PolicyValue returns it; nulls are the reasons of NullReasons.
func JudgePolicies(policies []config.Policy, guards config.Guards, value cty.Value, nulls map[string]string) (verdicts []Verdict) {
	for _, policy := range policies {
		verdicts = append(verdicts, judgePolicy(policy, guards, value, nulls))
	}
	return verdicts
}

func judgePolicy(policy config.Policy, guards config.Guards, value cty.Value, nulls map[string]string) Verdict {
	v := Verdict{Guard: "policy." + policy.Name, Status: Passed, Source: diag.RangeOf(policy.Range)}
	decided, diags := policy.Evaluate(value, nulls)
	if !decided {
		v.Status, v.Detail = Uncounted(guards, unknownParts(value)+"nodes or their cost, which are not known without a "+
			"cluster. To read them, add --nodes live or --nodes snapshot:FILE.")
	}
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			v.Status, v.Detail = Blocked, d.Detail
			break
		}
	}
	return v
}

// PolicyValue returns a plan as policies see it: a value of config.Type. What only a cluster can tell is unknown without
// a cluster.
func (p Plan) PolicyValue() cty.Value {
	s, asked := p.Summary(), cty.UnknownVal(cty.Number)
	total, current := asked, asked
	if p.Counted {
		total = numberValue(p.Nodes)
	}
	if p.Current != nil {
		current = dollarsValue(*p.Current)
	}
	nodes := map[string]cty.Value{
		"total": total, "created": numberValue(0), "deleted": countValue(s.NodesDeleted), "rolled": countValue(s.Moved()),
	}
	ceiling, floor := cty.NullVal(cty.Number), dollarsValue(p.After.Floor)
	if p.After.Ceiling.Known() {
		ceiling = dollarsValue(p.After.Ceiling.Monthly)
	}
	if p.After.FloorUnknown {
		floor = cty.NullVal(cty.Number)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"nodes": cty.ObjectVal(nodes),
		"objects": cty.ObjectVal(map[string]cty.Value{"created": numberValue(s.Create), "changed": numberValue(s.Update),
			"deleted": numberValue(s.Delete)}),
		"cost":            cty.ObjectVal(map[string]cty.Value{"current": current, "floor": floor, "ceiling": ceiling}),
		schemas.Simulated: simulationValue(p.Workloads),
	})
}

// NullReasons returns why numbers of PolicyValue and PolicyJSON are null, by their names below plan.
func (p Plan) NullReasons() map[string]string {
	const refresh = " To update the catalogue, run \"lkeplan catalog refresh\"."
	why := map[string]string{}
	switch most := p.After.Ceiling; {
	case most.Unlimited && len(p.After.Open) > 0:
		why["cost.ceiling"] = "The maximum cost is unlimited, because no limit bounds the cost of " +
			text.List(p.After.Open, 3) + ". Set limits in the pool or in a limits block, or handle null in the condition."
	case most.Unlimited:
		why["cost.ceiling"] = "The maximum cost is unlimited. Set lower limits."
	case most.AtLeast:
		why["cost.ceiling"] = "The maximum cost is unknown, because pools allow plan types whose price or size is not in " +
			"the catalogue." + refresh
	}
	if p.After.FloorUnknown {
		why["cost.floor"] = "The minimum cost is unknown, because a pool with replicas allows only plan types whose price " +
			"or size is not in the catalogue." + refresh
	}
	s := p.Summary()
	for name, known := range map[string]bool{
		"total": p.Counted, "deleted": s.NodesDeleted.Known, "rolled": s.Moved().Known,
	} {
		if !known {
			why["nodes."+name] = "The number of nodes is unknown."
		}
	}
	if w := p.Workloads; w != nil && w.After.BuffersUnknown != "" {
		why[schemas.Simulated+".cost.buffers"] = "The cost of buffers is unknown: " + w.After.BuffersUnknown + "."
	}
	if p.Current == nil {
		why["cost.current"] = "The cost of the existing nodes is unknown."
	}
	return why
}

// unknownParts returns the start of a sentence about the unknown parts of a plan that a policy depends on.
func unknownParts(value cty.Value) string {
	if s := value.GetAttr(schemas.Simulated); !s.IsNull() && !s.GetAttr("unschedulable").IsKnown() {
		return "The policy depends on pods, of which some may be missing, or on "
	}
	return "The policy depends on "
}

// simulationValue returns the result of a simulation of pods; null if none were simulated, and unknown if some may
// be missing.
func simulationValue(w *Workloads) cty.Value {
	if w == nil {
		return config.Unsimulated()
	}
	if len(w.Missing) > 0 {
		unknown := cty.UnknownVal(cty.Number)
		return cty.ObjectVal(map[string]cty.Value{
			"unschedulable": unknown, "cost": cty.ObjectVal(map[string]cty.Value{"before": unknown, "after": unknown, "delta": unknown,
				"buffers": unknown}),
		})
	}
	buffers := dollarsValue(w.After.Buffers)
	if w.After.BuffersUnknown != "" {
		buffers = cty.NullVal(cty.Number)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"unschedulable": numberValue(w.LostPods()),
		"cost": cty.ObjectVal(map[string]cty.Value{
			"before": dollarsValue(catalog.Money(w.Before.Monthly)), "after": dollarsValue(catalog.Money(w.After.Monthly)),
			"delta": dollarsValue(catalog.Money(w.After.Monthly - w.Before.Monthly)), "buffers": buffers,
		}),
	})
}

func countValue(c Count) cty.Value {
	if !c.Known {
		return cty.UnknownVal(cty.Number)
	}
	return numberValue(c.Nodes)
}

func numberValue(n int) cty.Value { return cty.NumberIntVal(int64(n)) }

// dollarsValue are rounded to the cent, so that they are the same number as in reports.
func dollarsValue(m catalog.Money) cty.Value {
	return cty.MustParseNumberVal(strconv.FormatFloat(m.Float64(), 'f', 2, 64))
}

// PolicyJSON writes PolicyValue for a process that evaluates the policies. The plan was made against a cluster. What is
// still unknown is null, so that a policy about it refuses the plan.
func (p Plan) PolicyJSON() (json.RawMessage, error) {
	value, err := cty.Transform(p.PolicyValue(), func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return nil, fmt.Errorf("write the plan for the policies: %w", err)
	}
	raw, err := ctyjson.Marshal(value, config.Type())
	if err != nil {
		return nil, fmt.Errorf("write the plan for the policies: %w", err)
	}
	return raw, nil
}
