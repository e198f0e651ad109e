package gitops

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// target is the NodePlan that a revision is planned for, with its variables.
type target struct {
	*lkeplanv1alpha1.NodePlan
	vars Variables
}

// targetOf finds the NodePlan that a revision is planned for: the one in planFor, or else np.
func (w *Worker) targetOf(ctx context.Context, np *lkeplanv1alpha1.NodePlan, own Variables) (target, error) {
	at, forAnother := nodeplan.PlannedFor(np)
	if !forAnother {
		return target{np, own}, nil
	}
	if w.SameNamespace && at.Namespace != np.Namespace {
		return target{}, stalled(lkeplanv1alpha1.ReasonAccessDenied,
			"planFor names NodePlan %s in another namespace, which this controller does not allow", at)
	}
	other := &lkeplanv1alpha1.NodePlan{}
	err := w.Cache.Get(ctx, at, other)
	switch {
	case apierrors.IsNotFound(err):
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "planFor names NodePlan %s, which does not exist", at)
	case err != nil:
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "get NodePlan %s: %v", at, err)
	}
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "planFor names NodePlan %s: %v", at, err)
	}
	return target{other, vars}, nil
}

// planned returns the outcome in the mode PlanOnly. It has an event if the plan differs from the previous one.
func (w *Worker) planned(rev *revision, p judged, before *lkeplanv1alpha1.NodePlanStatus) (outcome, error) {
	o := plannedOutcome(p).changed(planDiffers(before, &rev.np.Status))
	var err error
	if o.event, err = planComment(rev.target.NodePlan, p.Plan, p.digest); err != nil {
		return o, failed(lkeplanv1alpha1.ReasonApplyFailed, "write the plan of revision %s: %v", rev.Revision, err)
	}
	return o, nil
}

// plannedOutcome returns an outcome that is ready even if guards or conflicts would stop the plan. The event is
// then a warning, which sets the status of the commit to failure.
func plannedOutcome(p judged) outcome {
	o := done(lkeplanv1alpha1.ReasonPlanned, "%s", summaryLine(p.Plan))
	if err := refuseForeign(p.Plan, p.ownership); err != nil {
		o.refused, o.message = lkeplanv1alpha1.ReasonConflict, o.message+"; currently, "+err.Error()
	}
	if p.Plan.Refused() {
		o.refused, o.message = lkeplanv1alpha1.ReasonGuarded, o.message+"; it would wait for approval: "+refusalMessages(p.Plan)
	}
	return o.noting(p.stays)
}

// planDiffers reports whether a plan, or a verdict on it, has changed.
func planDiffers(before, after *lkeplanv1alpha1.NodePlanStatus) bool {
	return before.Plan == nil || before.Plan.Digest != after.Plan.Digest || before.Plan.Revision != after.Plan.Revision ||
		!slices.Equal(before.Guards, after.Guards)
}
