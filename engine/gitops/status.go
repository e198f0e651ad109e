package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// writePlan writes a plan into the status. In the mode Apply, an empty plan keeps the last plan that
// was not empty.
func writePlan(np *lkeplanv1alpha1.NodePlan, p plan.Plan, revision, digest string) {
	s := p.Summary()
	if !p.Empty() || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		np.Status.Plan = &lkeplanv1alpha1.PlanSummary{
			Digest: digest, Revision: revision, Summary: summaryLine(p),
			Create: s.Create, Update: s.Update, Delete: s.Delete,
			NodesRolled: s.NodesRolled.Nodes, NodesDeleted: s.NodesDeleted.Nodes, NodesDrained: s.NodesDrained.Nodes,
			NodesRemovable: s.NodesRemovable.Nodes, Moves: reports.Moves(p, mostListed),
		}
		if p.After.Ceiling.Known() {
			np.Status.Plan.CostCeiling = p.After.Ceiling.Monthly.String()
		}
	}
	np.Status.Guards, np.Status.NextWindow = nil, nil
	if np.Status.Plan != nil && !p.Empty() && slices.ContainsFunc(p.Verdicts, func(v plan.Verdict) bool { return v.Status != plan.Passed }) {
		np.Status.Plan.Changes = reports.Changed(p, mostListed, mostFields)
	}
	for _, v := range p.Verdicts {
		if v.Status != plan.Passed {
			np.Status.Guards = append(np.Status.Guards, lkeplanv1alpha1.GuardStatus{
				Guard: v.Guard, Address: v.Addr, Status: string(v.Status), Message: v.Detail, Permission: v.Permission,
				Until: statusTime(v.Until),
			})
		}
	}
	if opens := plan.Opens(np); !opens.IsZero() {
		np.Status.NextWindow = statusTime(opens)
	}
	np.Status.Drift = nil
	for _, d := range p.Drift {
		if d.Kept && len(np.Status.Drift) < mostListed {
			np.Status.Drift = append(np.Status.Drift, lkeplanv1alpha1.DriftStatus{
				Object: d.Key().String(), Path: d.Path, Owners: d.Owners,
			})
		}
	}
}

// mostFields is the maximum number of an object's fields in a status.
const mostFields = 20

// mostListed is the maximum length of the lists in a status.
const mostListed = 100

// pools counts the outdated nodes of each pool, and finds when the next one can be replaced.
func (w *Worker) pools(ctx context.Context, rev *candidate, p plan.Plan) ([]lkeplanv1alpha1.PoolStatus, error) {
	rolling, err := compare.Rolling(ctx, newView(rev.cluster, w.Cache, rev.head), rev.head)
	if err != nil {
		return nil, err
	}
	windows := map[string]*metav1.Time{}
	for _, c := range p.Changes {
		if c.Impact != nil && c.Impact.Pace != nil && !c.Impact.Pace.Next.IsZero() {
			windows[c.Name] = &metav1.Time{Time: c.Impact.Pace.Next}
		}
	}
	return poolStatuses(rolling, windows), nil
}

// planComment writes the plan as a comment for a pull request. Its limit is in characters, so that many multi-byte
// characters can exceed the limit of an event, which is then truncated.
func planComment(np *lkeplanv1alpha1.NodePlan, p plan.Plan, digest string) (string, error) {
	var b strings.Builder
	opts := reports.Options{Target: np.Namespace + "/" + np.Name, MaxChars: maxEvent - 1000}
	err := reports.Write(&b, "markdown", reports.Report{Plan: p, Digest: digest}, opts)
	return b.String(), err
}

// summaryLine summarizes a plan in one line.
func summaryLine(p plan.Plan) string {
	if p.Empty() {
		return "no changes"
	}
	s := p.Summary()
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, what))
		}
	}
	add(s.Create, "create")
	add(s.Update, "update")
	add(s.Delete, "delete")
	sentence := strings.Join(parts, ", ")
	if sentence == "" {
		sentence = "no objects change"
	}
	nodes := func(n plan.Count, what string, pools []string) {
		if n.Nodes > 0 {
			sentence += fmt.Sprintf("; %s %s %s", text.Count(n.Nodes, "node"), what, strings.Join(pools, ", "))
		}
	}
	nodes(s.NodesDeleted, "deleted with", s.Deleted)
	nodes(s.NodesDrained, "drained from", s.Condemned)
	nodes(s.NodesRolled, "replaced in", s.Rolled)
	removed := "may be removed in"
	if s.Exact {
		removed = "removed or replaced by Karpenter in"
	}
	nodes(s.NodesRemovable, removed, s.Removable)
	if p.Waves && s.NodesRemovable.Some() {
		sentence += ", which no first wave holds"
	}
	return sentence
}

// refusalMessages returns the messages of the guards that block a plan.
func refusalMessages(p plan.Plan) string {
	var details []string
	for _, v := range p.Verdicts {
		if v.Status == plan.Blocked {
			details = append(details, v.Detail)
		}
	}
	return strings.Join(details, " ")
}
