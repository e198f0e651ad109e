package planjson

import "github.com/lkeplan/lkeplan/engine/plan"

// workloads is plan.Workloads as JSON.
type workloads struct {
	Pods      int        `json:"pods" doc:"That were simulated, on each side on a cluster without nodes."`
	Before    placed     `json:"before"`
	After     placed     `json:"after"`
	PlanTypes []planType `json:"plan_types" doc:"The nodes by pool and plan type, on both sides."`
	Lost      []lost     `json:"newly_unschedulable" doc:"Pods that have a node before the change, and none after it."`
	Notes     []string   `json:"notes" doc:"What was not simulated."`
}

type placed struct {
	Pods          int    `json:"pods" doc:"That have a node."`
	Unschedulable int    `json:"unschedulable" doc:"Pods without a node."`
	Nodes         int    `json:"nodes"`
	Monthly       amount `json:"monthly" doc:"What the nodes cost, in US dollars."`
}

type planType struct {
	Pool   string `json:"pool" doc:"The name of the NodePool."`
	Name   string `json:"plan_type"`
	Before onType `json:"before"`
	After  onType `json:"after"`
}

type onType struct {
	Pods    int    `json:"pods"`
	Nodes   int    `json:"nodes"`
	Monthly amount `json:"monthly"`
}

type lost struct {
	Workload string       `json:"workload" doc:"Such as Deployment web/api."`
	Pods     int          `json:"pods"`
	Reasons  []poolReason `json:"reasons"`
}

type poolReason struct {
	Pool string `json:"pool,omitempty" doc:"The name of the NodePool; left out where the reason is the same for all."`
	Text string `json:"text"`
}

func workloadsOf(w *plan.Workloads) *workloads {
	if w == nil {
		return nil
	}
	out := &workloads{
		Pods: w.Asked(), Before: placedOf(w.Before), After: placedOf(w.After), PlanTypes: []planType{}, Lost: []lost{},
		Notes: append([]string{}, w.Notes...),
	}
	for _, t := range w.PlanTypes {
		out.PlanTypes = append(out.PlanTypes, planType{t.Pool, t.Name, onTypeOf(t.Before), onTypeOf(t.After)})
	}
	for _, l := range w.Lost {
		one := lost{Workload: l.Workload, Pods: l.Pods, Reasons: []poolReason{}}
		for _, r := range l.Reasons {
			one.Reasons = append(one.Reasons, poolReason(r))
		}
		out.Lost = append(out.Lost, one)
	}
	return out
}

func placedOf(p plan.Placed) placed {
	return placed{p.Pods, p.Unschedulable, p.Nodes, amount(Dollars(p.Monthly))}
}

func onTypeOf(p plan.Placed) onType { return onType{p.Pods, p.Nodes, amount(Dollars(p.Monthly))} }
