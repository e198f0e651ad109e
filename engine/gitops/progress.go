package gitops

import (
	"fmt"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// waitForWindow returns the outcome of a plan that waits for a change window, or for the end of a freeze.
func waitForWindow(rev *revision, p plan.Plan, until time.Time) error {
	var why []string
	for _, v := range p.Verdicts {
		switch {
		case v.Status != plan.Waiting:
		case v.Guard == plan.Frozen:
			why = append(why, fmt.Sprintf("Freeze %s: %s", v.Addr, v.Detail))
		default:
			why = append(why, v.Detail)
		}
	}
	const text = "revision %s waits: %s\nPlan: %s"
	if until.IsZero() {
		return stalled(lkeplanv1alpha1.ReasonOutsideWindow, text, rev.Revision, strings.Join(why, " "), summaryLine(p)).changed(true)
	}
	why = append(why, fmt.Sprintf("lkeplan applies it at %s.", until.UTC().Format("Mon 2006-01-02 15:04 UTC")))
	o := done(lkeplanv1alpha1.ReasonOutsideWindow, text, rev.Revision, strings.Join(why, " "), summaryLine(p))
	o.inProgress, o.waitUntil = true, until
	return o
}

// waitForDrain returns the outcome of an apply after which pools are still draining. It adds these pools to the status;
// before are the pools of the previous status. Without such pools it returns o.
func waitForDrain(np *lkeplanv1alpha1.NodePlan, o outcome, p plan.Plan, before []lkeplanv1alpha1.PoolStatus) outcome {
	condemned := removalStatuses(p)
	if len(condemned) == 0 {
		return o
	}
	np.Status.Pools = append(np.Status.Pools, condemned...)
	text := strings.Join(progressLines(condemned), "\n")
	if furtherAlong(before, condemned) {
		o = o.changed(true)
	}
	o.reason, o.inProgress = lkeplanv1alpha1.ReasonPruning, true
	o.message += "\n" + text
	o.event += "\n" + text
	return o
}
