package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// finalize deletes or orphans the objects of a deleted NodePlan, and removes its finalizer. If the
// guards refuse the deletion, the NodePlan stays until a user approves it, or sets the deletion
// policy to Orphan.
func (r *Reconciler) finalize(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(np, Finalizer) {
		return ctrl.Result{}, nil
	}
	before := np.DeepCopy()
	err := runBounded(ctx, np, func(ctx context.Context) error { return r.Worker.end(ctx, np, record) })
	switch o, waiting := errors.AsType[outcome](err); {
	case waiting:
		setConditions(np, o)
		r.publish(ctrl.LoggerFrom(ctx), np, before, o)
		return ctrl.Result{RequeueAfter: r.next(np, o)}, nil
	case err != nil && !isRefused(err):
		setConditions(np, failed(lkeplanv1alpha1.ReasonPruneFailed,
			"the NodePlan is being deleted, but its objects cannot be released: %v", err))
		return ctrl.Result{}, err
	case err != nil: // its service account may be deleted already, together with the namespace
		r.Eventf(np, corev1.EventTypeWarning, lkeplanv1alpha1.ReasonPruneFailed, "the objects stay in the cluster: %v", err)
	}
	controllerutil.RemoveFinalizer(np, Finalizer)
	return ctrl.Result{}, nil
}

// isRefused reports whether the API server would refuse a retry as well.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) || meta.IsNoMatchError(err)
}

// end stops managing all objects of a NodePlan: with the deletion policy Delete, the objects that it
// has applied are deleted. All other objects with its label stay, without the label. A NodePlan that
// is suspended or only plans deletes nothing. The error is an outcome if the NodePlan waits for a
// user.
func (w *Worker) end(ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder) error {
	to, err := w.Connect(np)
	if err != nil {
		return err
	}
	remove := np.Spec.DeletionPolicy == lkeplanv1alpha1.DeletionDelete && !np.Spec.Suspend &&
		np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly
	if remove {
		if err := w.remove(ctx, np, to, record); err != nil {
			return err
		}
	}
	label := nodeplan.InventoryLabel(np)
	view := newView(to, w.Cache, compile.Result{Inventory: label})
	if np.Spec.Rollout != nil { // not from the status, which may be lost or not written yet
		pools, err := view.List(ctx, *schemas.Pool.Object)
		if err != nil {
			return err
		}
		var held []string
		for _, pool := range pools {
			if rollout.HasWaveBudget(pool) {
				held = append(held, manifest.Name(pool))
			}
		}
		if err := refuseRelease(np, "the NodePlan is being deleted", held); err != nil {
			return err
		}
	}
	return apply.Orphan(ctx, to, view, label)
}

// remove deletes what a NodePlan has applied, if the last applied guards and policies allow it.
func (w *Worker) remove(ctx context.Context, np *lkeplanv1alpha1.NodePlan, to Cluster, record Recorder) error {
	dir, err := os.MkdirTemp(w.Scratch, "nodeplan-")
	if err != nil {
		return fmt.Errorf("create a directory for what was last applied: %w", err)
	}
	defer os.RemoveAll(dir)
	rev := &revision{
		sourceArtifact: sourceArtifact{Revision: np.Status.LastAttemptedRevision},
		np:             np, target: target{NodePlan: np}, cluster: to, deleting: true,
	}
	vars, _ := w.Vars(ctx, np) // only values from Secrets are needed, and without one the change waits for approval
	rev.target.vars, rev.record = vars, Variables{Secrets: vars.Secrets}.masked(np, record)
	nothing := compiled{request: compile.Request{Root: dir}}
	if rev.base, err = w.base(ctx, rev.target, filepath.Join(dir, "base"), nothing); err != nil {
		return err
	}
	rev.head.Cluster, rev.head.Inventory = rev.base.Cluster, nodeplan.InventoryLabel(np)
	p, err := w.compare(ctx, rev)
	if err != nil {
		return err
	}
	if err := w.judge(ctx, rev, &p); err != nil {
		return err
	}
	if p.digest, err = p.Plan.Digest(); err != nil {
		return err
	}
	why := plan.LiftByApproval(np.Status.Approval, &p.Plan, p.digest, w.Now())
	writePlan(np, p.Plan, rev.Revision, p.digest)
	if p.Plan.Refused() {
		o := stalled(lkeplanv1alpha1.ReasonGuarded, "the NodePlan is being deleted, and the deletion of its objects waits "+
			"for approval: %s To keep the objects, set spec.deletionPolicy to Orphan.", explainBlocked(np, p, why))
		return Variables{Secrets: vars.Secrets}.mask(np, o)
	}
	if until, waits := p.Plan.Waits(); waits {
		return waitForWindow(rev, p.Plan, until)
	}
	if err := w.recordBeforeApply(ctx, rev, p, func() {}); err != nil {
		return err
	}
	_, err = apply.Run(ctx, to, compare.Comparison{Plan: p.Plan}, func(apply.Progress) {})
	return err
}
