package gitops

import (
	"context"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// recordBeforeApply records in the status what is about to be done, before the first object is changed: it uses up
// the approval of the plan, and calls state for other changes of the status. It also records the files of a first
// revision, whose guards apply to the next one. If the status cannot be written, nothing is changed, and the
// approval stays for the next attempt.
func (w *Worker) recordBeforeApply(ctx context.Context, rev *revision, p judged, state func()) error {
	np, before := rev.np, rev.np.Status.DeepCopy()
	rev.usedApproval = plan.SpendApproval(np, p.digest)
	state()
	if rev.base.first && !rev.deleting {
		// Otherwise the objects of a first revision that fails half-way are those of an unknown configuration.
		var err error
		if np.Status.LastAppliedDigest, err = w.Records.Store(ctx, np, rev.read, rev.target.vars.Vars); err != nil {
			return failed(lkeplanv1alpha1.ReasonApplyFailed, "store the record of revision %s: %v", rev.Revision, err)
		}
	} else if rev.usedApproval == nil && equality.Semantic.DeepEqual(before.Rollout, np.Status.Rollout) {
		return nil
	}
	if rev.usedApproval != nil {
		addHistory(np, outcome{reason: meta.ProgressingReason, approval: rev.usedApproval}, w.Now())
	}
	if err := rev.record(ctx); err != nil {
		before.DeepCopyInto(&np.Status)
		rev.usedApproval = nil
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "revision %s is not applied: record it in the status: %v",
			rev.Revision, err)
	}
	return nil
}

// dropApproval removes the approval of the plan in the status if another revision replaces this plan: the approver decided
// about that revision, and a later one with the same plan may come at another time, or without the window that the approval
// was to wait for. An approval of a plan that was not in the status yet stays. It returns a sentence about the removal.
func dropApproval(np *lkeplanv1alpha1.NodePlan, revision, digest string) string {
	a, last := np.Status.Approval, np.Status.Plan
	if a == nil || last == nil || a.PlanDigest != last.Digest || last.Digest == digest || last.Revision == revision {
		return ""
	}
	np.Status.Approval = nil
	return fmt.Sprintf("The approval by %s is removed, because this revision replaces the approved plan.", a.By)
}

// awaitsApproval returns the outcome of a plan that guards refuse.
func awaitsApproval(rev *revision, p judged, why string) outcome {
	return stalled(lkeplanv1alpha1.ReasonGuarded,
		"revision %s waits for approval: %s Or lift the guard in an earlier revision.",
		rev.Revision, explainBlocked(rev.np, p, why)).changed(true)
}

// explainBlocked explains what blocks a plan and how to approve it. why explains why an existing approval
// does not match.
func explainBlocked(np *lkeplanv1alpha1.NodePlan, p judged, why string) string {
	if why != "" {
		why += "\n"
	}
	return fmt.Sprintf("%s\nPlan: %s\n%sTo approve it: lkeplan nodeplan approve -n %s %s (plan %s).",
		refusalMessages(p.Plan),
		summaryLine(p.Plan), why, np.Namespace, np.Name, p.digest)
}

// approvalText returns the part of an event that names the approval of a plan; "" if it needed none.
func approvalText(a *lkeplanv1alpha1.Approval) string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("\nApproved by %s: %s", a.By, strings.Join(a.Guards, ", "))
	if a.Reason != "" {
		text += "\n" + a.Reason
	}
	return text
}
