package simreport

import (
	"cmp"
	"slices"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// Workloads is a simulation of both sides of a change, for the plan of it.
func Workloads(r simulate.Report) plan.Workloads {
	w := plan.Workloads{After: sum(r.Head), Before: sum(*r.Before), Notes: r.Head.Notes}
	at := map[[2]string]int{}
	on := func(p simulate.Plan) *plan.PlanType {
		key := [2]string{p.Pool, p.Plan}
		if _, known := at[key]; !known {
			at[key] = len(w.PlanTypes)
			w.PlanTypes = append(w.PlanTypes, plan.PlanType{Pool: p.Pool, Name: p.Plan})
		}
		return &w.PlanTypes[at[key]]
	}
	for _, p := range r.Before.Plans {
		on(p).Before = placed(p)
	}
	for _, p := range r.Head.Plans {
		on(p).After = placed(p)
	}
	slices.SortStableFunc(w.PlanTypes, func(a, b plan.PlanType) int { return cmp.Compare(a.Pool, b.Pool) })
	for _, share := range r.New {
		w.Lost = append(w.Lost, plan.Lost{
			Workload: share.Workload, Pods: share.Pods, Reasons: reasonsOf(r.Head.Refusals, share.Workload),
		})
	}
	return w
}

func sum(r simulate.Result) plan.Placed {
	return plan.Placed{Pods: r.Placed, Unschedulable: r.Refused, Nodes: len(r.Nodes), Monthly: r.Total.Monthly}
}

func placed(p simulate.Plan) plan.Placed {
	return plan.Placed{Pods: p.Pods, Nodes: p.Nodes, Monthly: p.Cost.Monthly}
}

// reasonsOf are why pods of a workload get no node, each once.
func reasonsOf(refusals []simulate.Refusal, workload string) (reasons []plan.PoolReason) {
	for _, f := range refusals {
		if f.Workload != workload {
			continue
		}
		for _, r := range f.Reasons {
			if reason := plan.PoolReason(r); !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	return reasons
}
