package testrun

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// objectsNode returns the objects by address, which are read where something refers to them.
func objectsNode(objects []config.Object) *eval.Node {
	return &eval.Node{Name: "objects", Eval: func() (cty.Value, hcl.Diagnostics) {
		all := map[string]any{}
		for _, o := range objects {
			all[o.Addr.String()] = o.Defaulted
		}
		value, err := valueOf(all)
		if err != nil {
			return cty.DynamicVal, hcl.Diagnostics{diag.Error("Objects cannot be read", err.Error()+".")}
		}
		return value, nil
	}}
}

func valueOf(v any) (cty.Value, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return cty.DynamicVal, err
	}
	ty, err := ctyjson.ImpliedType(raw)
	if err != nil {
		return cty.DynamicVal, err
	}
	return ctyjson.Unmarshal(raw, ty)
}

// costValue returns what the objects of a plan from nothing cost.
func costValue(alone plan.Plan) cty.Value {
	cost := alone.PolicyValue().GetAttr("cost")
	return cty.ObjectVal(map[string]cty.Value{"floor": cost.GetAttr("floor"), "ceiling": cost.GetAttr("ceiling")})
}

// simulationValue returns a simulation as assertions see it. Each pool among the objects is in
// it, so that a pool without a node has none.
func simulationValue(r simulate.Result, objects []config.Object) cty.Value {
	type share struct {
		nodes, pods int
		cost        catalog.Money
	}
	plans, shares := map[string]int{}, map[string]share{}
	for _, o := range objects {
		if o.Kind() == schemas.Pool.Object.Kind {
			shares[o.Name()] = share{}
		}
	}
	for _, p := range r.Plans {
		s := shares[p.Pool]
		shares[p.Pool] = share{s.nodes + p.Nodes, s.pods + p.Pods, s.cost + p.Cost.Monthly}
		plans[p.Plan] += p.Nodes
	}
	byPlan, byPool := map[string]cty.Value{}, map[string]cty.Value{}
	for name, n := range plans {
		byPlan[name] = numberValue(n)
	}
	for name, s := range shares {
		byPool[name] = cty.ObjectVal(map[string]cty.Value{
			"nodes": numberValue(s.nodes), "pods": numberValue(s.pods), "cost": dollarsValue(s.cost, 2),
		})
	}
	refused := []cty.Value{}
	for _, f := range r.Refusals {
		var reasons []string
		for _, reason := range f.Reasons {
			reasons = append(reasons, reason.Text)
		}
		refused = append(refused, cty.ObjectVal(map[string]cty.Value{
			"workload": cty.StringVal(f.Workload), "pods": numberValue(f.Pods), "reasons": tupleOf(reasons),
		}))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"nodes": numberValue(len(r.Nodes)), "pods": numberValue(r.Asked), "placed": numberValue(r.Placed),
		"unschedulable": numberValue(r.Refused), "cost": dollarsValue(r.Total.Monthly, 2), "hourly": dollarsValue(r.Total.Hourly, 4),
		"plans": cty.ObjectVal(byPlan), "pools": cty.ObjectVal(byPool), "refused": cty.TupleVal(refused),
	})
}

// planValue returns a change as assertions see it: as policies do, and where it touches which
// objects.
func planValue(p plan.Plan, uncounted bool) cty.Value {
	value := p.PolicyValue().AsValueMap()
	s := p.Summary()
	if uncounted && p.Counted {
		nodes := value["nodes"].AsValueMap()
		nodes["rolled"] = cty.UnknownVal(cty.Number)
		value["nodes"] = cty.ObjectVal(nodes)
	}
	actions := map[string]cty.Value{}
	for _, c := range p.Changes {
		actions[c.Addr] = cty.StringVal(string(c.Action))
	}
	value["actions"] = cty.ObjectVal(actions)
	value["pools"] = cty.ObjectVal(map[string]cty.Value{
		"rolled": tupleOf(s.Rolled), "deleted": tupleOf(s.Deleted), "condemned": tupleOf(s.Condemned),
		"removable": tupleOf(s.Removable),
	})
	value["refused_by"] = refusedBy(p.Verdicts)
	if uncounted { // guards count them, too
		value["refused_by"] = cty.DynamicVal
	}
	return cty.ObjectVal(value)
}

// refusedBy names the guards and policies that refuse a plan. It is unknown where one is
// not decided.
func refusedBy(verdicts []plan.Verdict) cty.Value {
	var names []string
	for _, v := range verdicts {
		switch v.Status {
		case plan.Unknown:
			return cty.DynamicVal
		case plan.Blocked, plan.Waiting:
			names = append(names, v.Guard)
		}
	}
	slices.Sort(names)
	return tupleOf(slices.Compact(names))
}

// tupleOf returns a tuple, so that it equals [] and other lists that are written out.
func tupleOf(list []string) cty.Value {
	values := make([]cty.Value, len(list))
	for i, text := range list {
		values[i] = cty.StringVal(text)
	}
	return cty.TupleVal(values)
}

func numberValue(n int) cty.Value { return cty.NumberIntVal(int64(n)) }

// dollarsValue have so many decimals, and are the same number as when they are written out.
func dollarsValue(m catalog.Money, decimals int) cty.Value {
	return cty.MustParseNumberVal(strconv.FormatFloat(m.Float64(), 'f', decimals, 64))
}
