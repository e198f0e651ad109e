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

// applier is the NodePlan through which a plan is applied, or would be, with
// the variables of what is in force through it.
type applier struct {
	*lkeplanv1alpha1.NodePlan
	vars Variables
}

// through finds the NodePlan that a plan is for: another one, where it only
// plans and says so, and else itself.
func (w *Worker) through(ctx context.Context, np *lkeplanv1alpha1.NodePlan, own Variables) (applier, outcome, bool) {
	at, forAnother := plannedFor(np)
	if !forAnother {
		return applier{np, own}, outcome{}, false
	}
	if w.SameNamespace && at.Namespace != np.Namespace {
		return applier{}, stalled(lkeplanv1alpha1.ReasonAccessDenied, "it plans for NodePlan %s in another namespace, which this controller was told not to allow", at), true
	}
	other := &lkeplanv1alpha1.NodePlan{}
	err := w.Cache.Get(ctx, at, other)
	switch {
	case apierrors.IsNotFound(err):
		return applier{}, failed(lkeplanv1alpha1.ReasonDependency, "it plans for NodePlan %s, which is not there", at), true
	case err != nil:
		return applier{}, failed(lkeplanv1alpha1.ReasonDependency, "get NodePlan %s: %v", at, err), true
	}
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return applier{}, failed(lkeplanv1alpha1.ReasonDependency, "it plans for NodePlan %s: %v", at, err), true
	}
	return applier{other, vars}, outcome{}, false
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

// planned is the outcome of a NodePlan that only plans. It is ready, whatever
// would become of the plan; but where guards or conflicts would stop it, the
// event is a warning, and so the status of the commit a failure.
func planned(p plan.Plan, ours owned) outcome {
	o := done(lkeplanv1alpha1.ReasonPlanned, "%s", sentence(p))
	if conflict, bad := foreign(p, ours); bad {
		o.refused, o.message = lkeplanv1alpha1.ReasonConflict, o.message+"; as it is, "+conflict.message
	}
	if p.Refused() {
		o.refused, o.message = lkeplanv1alpha1.ReasonGuarded, o.message+"; it would wait for approval: "+refusals(p)
	}
	return o
}

// plansAnew reports whether a plan is another one than before, or is judged in
// another way.
func plansAnew(before, after *lkeplanv1alpha1.NodePlanStatus) bool {
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

// inForceChanged lets pass what makes another plan of one for a NodePlan: that
// it comes or goes, has applied another revision, or is changed.
type inForceChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (inForceChanged) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	if !ok {
		return false
	}
	after, ok := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return ok && (before.Generation != after.Generation || before.Status.LastAppliedRevision != after.Status.LastAppliedRevision)
}
