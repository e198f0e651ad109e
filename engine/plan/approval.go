package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// LiftByApproval lifts the guards that an approval names, if it is for this plan, covers the number of nodes that the
// plan touches, and has not expired. It sets the permission of each guard that refuses the plan. It returns a
// sentence on why the plan is still refused; "" if it is not, or there is no approval.
func LiftByApproval(a *lkeplanv1alpha1.Approval, p *Plan, digest string, now time.Time) (why string) {
	p.Permit()
	if a == nil || !p.Refused() {
		return ""
	}
	given := "The approval by " + a.By
	nodes := p.Summary().Touched()
	switch {
	case a.PlanDigest != digest:
		return fmt.Sprintf("%s is for another plan, %s.", given, a.PlanDigest)
	case !now.Before(a.Expires.Time):
		return fmt.Sprintf("%s expired at %s.", given, a.Expires.UTC().Format(time.RFC3339))
	case !nodes.Known:
		return given + " limits the number of nodes, and the number that the plan affects is unknown."
	case nodes.Nodes > a.MaxNodes:
		return fmt.Sprintf("%s covers at most %s, and the plan deletes, drains, replaces or may remove %d. If nodes are being replaced, "+
			"the number can grow: approve the plan with a larger --max-nodes.", given, text.Count(a.MaxNodes, "node"), nodes.Nodes)
	}
	var left []string
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		switch {
		case v.Status != Blocked:
		case slices.Contains(a.Guards, v.Permission), coversPermission(a.Guards, v.Permission):
			v.Status = Allowed
		default:
			left = append(left, v.Permission)
		}
	}
	if len(left) > 0 {
		return fmt.Sprintf("%s does not lift %s.", given, strings.Join(left, ", "))
	}
	return ""
}

// coversPermission reports whether permissions together name each object of one permission. If a plan is applied in
// waves, each wave is about some of the objects.
func coversPermission(given []string, permission string) bool {
	guard, addrs, _ := strings.Cut(permission, ":")
	for addr := range strings.SplitSeq(addrs, ",") {
		named := func(g string) bool {
			of, names, _ := strings.Cut(g, ":")
			return of == guard && slices.Contains(strings.Split(names, ","), addr)
		}
		if addr == "*" || !slices.ContainsFunc(given, named) {
			return false
		}
	}
	return true
}

// ApprovalFor returns the approval that a NodePlan waits for: its plan, the guards that refuse it, and the number of
// nodes that it touches now. Guards that an approval of this plan lifts already stay lifted. The caller adds the
// approver and the expiry. If nothing waits for approval, the error explains why.
func ApprovalFor(np *lkeplanv1alpha1.NodePlan) (lkeplanv1alpha1.Approval, error) {
	name := np.Namespace + "/" + np.Name
	if np.Status.Plan == nil {
		return lkeplanv1alpha1.Approval{}, fmt.Errorf("NodePlan %s has no plan yet", name)
	}
	a := lkeplanv1alpha1.Approval{
		PlanDigest: np.Status.Plan.Digest,
		MaxNodes: np.Status.Plan.NodesDeleted + np.Status.Plan.NodesDrained + np.Status.Plan.NodesRolled +
			np.Status.Plan.NodesRemovable,
	}
	if np.Status.Plan.Revision != np.Status.LastAttemptedRevision {
		return a, fmt.Errorf("NodePlan %s has no plan for its last revision, %s: see its condition Ready", name,
			diag.OneLine(np.Status.LastAttemptedRevision))
	}
	approved := np.Status.Approval != nil && np.Status.Approval.PlanDigest == a.PlanDigest
	for _, g := range np.Status.Guards {
		if g.Status == string(Blocked) || approved && g.Status == string(Allowed) {
			a.Guards = append(a.Guards, g.Permission)
		}
	}
	switch waits := WaitsFor(np); {
	case len(a.Guards) > 0:
	case waits != "":
		return a, fmt.Errorf("no guard refuses the plan of NodePlan %s, so there is nothing to approve; it waits for %s, and an "+
			"approval cannot change that", name, waits)
	default:
		return a, fmt.Errorf("nothing refuses the plan of NodePlan %s, so there is nothing to approve", name)
	}
	slices.Sort(a.Guards)
	a.Guards = slices.Compact(a.Guards)
	return a, nil
}

// Opens is when the plan of a NodePlan that waits for windows, freezes and stops can be applied, even if more blocks it. It is zero
// if it waits for none, or not only for a year.
func Opens(np *lkeplanv1alpha1.NodePlan) (opens time.Time) {
	for _, g := range np.Status.Guards {
		if g.Status == string(Waiting) && g.Until != nil { // the same for each: see setTimes
			opens = g.Until.Time
		}
	}
	return opens
}

// WaitsFor names the windows, freezes and stops that the plan of a NodePlan waits for, and until when; "" if there are none.
func WaitsFor(np *lkeplanv1alpha1.NodePlan) string {
	var what []string
	for _, g := range np.Status.Guards {
		switch {
		case g.Status != string(Waiting):
		case g.Guard == Frozen:
			what = append(what, "the end of the freeze "+diag.OneLine(g.Address))
		case g.Guard == Stopped:
			what = append(what, "the end of a DisruptionStop")
		default:
			what = append(what, "a window")
		}
	}
	if len(what) == 0 {
		return ""
	}
	if opens := Opens(np); !opens.IsZero() {
		return strings.Join(what, " and ") + ", until " + text.DayTime(opens)
	}
	return strings.Join(what, " and ") + ", which is not within a year"
}

// SpendApproval removes the approval of an applied plan from the status, and returns it for the history. An approval is
// for one plan, applied once.
func SpendApproval(np *lkeplanv1alpha1.NodePlan, digest string) *lkeplanv1alpha1.Approval {
	a := np.Status.Approval
	if a == nil || a.PlanDigest != digest {
		return nil
	}
	np.Status.Approval = nil
	return a
}
