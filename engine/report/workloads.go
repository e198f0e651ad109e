package report

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// workloads writes what becomes of pods.
func (c *comment) workloads() {
	switch {
	case c.Workloads == nil:
	case c.detail == onlyNames:
		c.WriteString(workloadHeadline(*c.Workloads))
	default:
		c.WriteString(workloadMarkdown(*c.Workloads, quoteFunc(code), c.detail <= graveRows))
	}
}

// unschedulable is the rule of findings about pods; addr is their workload.
const unschedulable = "unschedulable-pods"

// lostPods are findings: errors, unless a guard lets it pass.
func lostPods(r Report) (list []finding) {
	if r.Workloads == nil {
		return nil
	}
	severity := "warning"
	judged := func(v plan.Verdict) bool { return v.Guard == plan.MaxUnschedulablePods }
	if !slices.ContainsFunc(r.Verdicts, judged) || slices.Contains(r.refusing(), plan.MaxUnschedulablePods) {
		severity = "error"
	}
	var place hcl.Range
	isPool := func(c plan.Change) bool { return c.Kind == "NodePool" && c.Source.Filename != "" }
	if i := slices.IndexFunc(r.Changes, isPool); i >= 0 {
		place = r.Changes[i].Source
	}
	for _, l := range r.Workloads.Lost {
		text := capital(lostText(l, quoteFunc(plainly)))
		for _, reason := range l.Reasons {
			text += "; " + strings.TrimSuffix(reasonText(reason, quoteFunc(plainly)), ".")
		}
		list = append(list, found(severity, unschedulable, "Pods get no node any more", text+".", place, l.Workload))
	}
	return list
}
