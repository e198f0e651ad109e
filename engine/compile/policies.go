package compile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// JudgePolicies evaluates the policies of a configuration on a plan, which is a value of
// planvalue.Type; nulls are the reasons of NullReasons.
func JudgePolicies(lastApplied Result, value cty.Value, nulls map[string]string) (verdicts []plan.Verdict) {
	for _, policy := range lastApplied.Policies {
		verdicts = append(verdicts, verdictOf(policy, value, nulls, lastApplied.Guards))
	}
	return verdicts
}

// verdictOf evaluates one policy.
func verdictOf(policy config.Policy, value cty.Value, nulls map[string]string, guards config.Guards) plan.Verdict {
	v := plan.Verdict{Guard: "policy." + policy.Name, Status: plan.Passed, Source: diag.RangeOf(policy.Range)}
	decided, diags := policy.Evaluate(value, nulls)
	if !decided {
		v.Status, v.Detail = plan.Uncounted(guards, unknownParts(value)+"nodes or their cost, which are not known without a "+
			"cluster. To read them, add --nodes live or --nodes snapshot:FILE.")
	}
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			v.Status, v.Detail = plan.Blocked, d.Detail
			break
		}
	}
	return v
}

// PolicyValue returns a plan as policies see it: a value of planvalue.Type. What only a cluster can tell is
// unknown without a cluster.
func PolicyValue(p plan.Plan) cty.Value {
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

// NullReasons returns why numbers of PolicyValue and PlanJSON are null, by their names below plan.
func NullReasons(p plan.Plan) map[string]string {
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
func simulationValue(w *plan.Workloads) cty.Value {
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

func countValue(c plan.Count) cty.Value {
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

// PlanJSON writes a plan for Request.Plan. The plan was made against a cluster. What is still unknown
// is null, so that a policy about it refuses the plan.
func PlanJSON(p plan.Plan) (json.RawMessage, error) {
	value, err := cty.Transform(PolicyValue(p), func(_ cty.Path, v cty.Value) (cty.Value, error) {
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

// checkPeriods reports invalid schedules, and freezes and windows that never let a change through.
func checkPeriods(g config.Guards) hcl.Diagnostics {
	diags := append(checkSchedules("freeze", "the freeze never starts", g.Freezes, g),
		checkSchedules("window", "the window never starts", g.Windows, g)...)
	if diags.HasErrors() || len(g.Freezes) == 0 {
		return diags
	}
	leapYear := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	at := g.Origins.Find("freeze." + g.Freezes[0].Name + ".schedule")
	if opens, err := plan.WindowOpens(nil, g.Freezes, leapYear); err == nil && opens.IsZero() {
		return append(diags, at.Error("Freeze without an end", "At each minute of the year a freeze is active, so no change could ever "+
			"replace or delete a node. Shorten the duration, or restrict the schedule, such as \"0 16 * * fri\" for 64h."))
	}
	if opens, err := plan.WindowOpens(g.Windows, g.Freezes, leapYear); err == nil && opens.IsZero() {
		return append(diags, at.Error("Windows that never open", "A freeze is active at each minute of the windows, so no change could "+
			"ever replace or delete a node. Shorten the freezes, or add a window outside of them."))
	}
	return diags
}

func checkSchedules(block, consequence string, periods []config.Period, g config.Guards) (diags hcl.Diagnostics) {
	for _, p := range periods {
		read, err := schedule.Parse(p.Schedule)
		detail := ""
		switch {
		case err != nil:
			detail = fmt.Sprintf("%v. Write the schedule of a %s in cron notation, minute first, such as \"0 16 * * fri\".",
				err, block)
		case strings.HasPrefix(p.Schedule, "@every"):
			detail = fmt.Sprintf("%q depends on when it is evaluated. Write the minutes and hours at "+
				"which the %s starts, such as \"0 16 * * fri\".", p.Schedule, block)
		case read.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero():
			detail = fmt.Sprintf("%q names a day that does not exist, so %s.", p.Schedule, consequence)
		}
		origin := g.Origins.Find(block + "." + p.Name + ".schedule")
		if detail != "" {
			diags = append(diags, origin.Error("Invalid schedule", detail))
		} else if why := schedule.EitherDay(p.Schedule); why != "" {
			diags = append(diags, origin.Warning("Schedule names two kinds of days", why))
		}
	}
	return diags
}
