package gitops

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// target is the NodePlan for which a revision is planned, with the variables of
// what was last applied for it.
type target struct {
	*lkeplanv1alpha1.NodePlan
	vars Variables
}

// targetOf finds the NodePlan that a revision is planned for: another one, where
// np only plans and names one, and else np itself.
func (w *Worker) targetOf(ctx context.Context, np *lkeplanv1alpha1.NodePlan, own Variables) (target, error) {
	at, forAnother := plannedFor(np)
	if !forAnother {
		return target{np, own}, nil
	}
	if w.SameNamespace && at.Namespace != np.Namespace {
		return target{}, stalled(lkeplanv1alpha1.ReasonAccessDenied, "it plans for NodePlan %s in another namespace, which this controller was told not to allow", at)
	}
	other := &lkeplanv1alpha1.NodePlan{}
	err := w.Cache.Get(ctx, at, other)
	switch {
	case apierrors.IsNotFound(err):
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "it plans for NodePlan %s, which is not there", at)
	case err != nil:
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "get NodePlan %s: %v", at, err)
	}
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "it plans for NodePlan %s: %v", at, err)
	}
	return target{other, vars}, nil
}

// plannedFor returns the NodePlan that a plan-only one plans for.
func plannedFor(np *lkeplanv1alpha1.NodePlan) (at client.ObjectKey, forAnother bool) {
	other := np.Spec.PlanFor
	if other == nil || np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly {
		return at, false
	}
	at = client.ObjectKey{Namespace: other.Namespace, Name: other.Name}
	if at.Namespace == "" {
		at.Namespace = np.Namespace
	}
	return at, at != client.ObjectKeyFromObject(np)
}

// planned is the outcome of a NodePlan that only plans: an event is worth it
// where the plan differs from the one before.
func (w *Worker) planned(rev *revision, p judged, before *lkeplanv1alpha1.NodePlanStatus) (outcome, error) {
	o := plannedOutcome(p.Plan, p.ours).changed(planDiffers(before, &rev.np.Status))
	var err error
	if o.event, err = comment(rev.target.NodePlan, p.Plan, p.digest); err != nil {
		return o, failed(lkeplanv1alpha1.ReasonApplyFailed, "write the plan of revision %s: %v", rev.Revision, err)
	}
	return o, nil
}

// plannedOutcome is ready, whatever would become of the plan; but where guards or
// conflicts would stop it, the event is a warning, and so the status of the
// commit a failure.
func plannedOutcome(p plan.Plan, ours owned) outcome {
	o := done(lkeplanv1alpha1.ReasonPlanned, "%s", sentence(p))
	if err := refuseForeign(p, ours); err != nil {
		o.refused, o.message = lkeplanv1alpha1.ReasonConflict, o.message+"; as it is, "+err.Error()
	}
	if p.Refused() {
		o.refused, o.message = lkeplanv1alpha1.ReasonGuarded, o.message+"; it would wait for approval: "+refusals(p)
	}
	return o
}

// planDiffers reports whether a plan, or a verdict on it, differs from before.
func planDiffers(before, after *lkeplanv1alpha1.NodePlanStatus) bool {
	return before.Plan == nil || before.Plan.Digest != after.Plan.Digest || before.Plan.Revision != after.Plan.Revision ||
		!slices.Equal(before.Guards, after.Guards)
}

func indexPlanFor(obj client.Object) []string {
	np, ok := obj.(*lkeplanv1alpha1.NodePlan)
	if !ok {
		return nil
	}
	at, forAnother := plannedFor(np)
	if !forAnother {
		return nil
	}
	return []string{sourceKey("", at.Namespace, at.Name)}
}

// lastAppliedChanged lets pass what makes another plan for a NodePlan: that it
// comes or goes, has applied another revision, or is changed.
type lastAppliedChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (lastAppliedChanged) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	if !ok {
		return false
	}
	after, ok := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return ok && (before.Generation != after.Generation || before.Status.LastAppliedRevision != after.Status.LastAppliedRevision)
}
