package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// finalize deletes or orphans the objects of a deleted NodePlan, and removes its
// finalizer. Where the guards refuse the deletion, the NodePlan stays until somebody
// approves it, or has the objects orphaned.
func (r *Reconciler) finalize(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(np, Finalizer) {
		return ctrl.Result{}, nil
	}
	before := np.DeepCopy()
	err := r.Worker.end(ctx, np, record)
	switch o, waiting := errors.AsType[outcome](err); {
	case waiting:
		settle(np, o)
		r.publish(ctrl.LoggerFrom(ctx), np, before, o)
		return ctrl.Result{RequeueAfter: r.next(np, o)}, nil
	case err != nil && !refused(err):
		settle(np, failed(lkeplanv1alpha1.ReasonPruneFailed, "it is deleted, and its objects could not be orphaned: %v", err))
		return ctrl.Result{}, err
	case err != nil: // its service account may be deleted already, with their namespace
		r.Eventf(np, corev1.EventTypeWarning, lkeplanv1alpha1.ReasonPruneFailed, "its objects stay: %v", err)
	}
	controllerutil.RemoveFinalizer(np, Finalizer)
	return ctrl.Result{}, nil
}

// refused reports whether the API server would answer the same to another try.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) || meta.IsNoMatchError(err)
}

// end ends the management of all objects of a NodePlan: what it has applied is deleted
// where it says so, and whatever else carries its label stays, without the label. A
// NodePlan that is suspended or only plans deletes nothing. The error is an outcome where
// the NodePlan waits for somebody.
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
	if np.Spec.Rollout != nil { // what the status says may be lost, or about to be written
		pools, err := view.List(ctx, *schemas.Pool.Object)
		if err != nil {
			return err
		}
		var braked []string
		for _, pool := range pools {
			if rollout.Braked(pool) {
				braked = append(braked, manifest.Name(pool))
			}
		}
		if len(braked) > 0 {
			revision := np.Status.LastAttemptedRevision
			if s := np.Status.Rollout; s != nil {
				revision = s.Revision
			}
			return stalled(lkeplanv1alpha1.ReasonHeld, "it is deleted before revision %s has proven itself: without the "+
				"brake on %s, all of their nodes would become what it asks for. If that is meant, remove spec.rollout; otherwise "+
				"set their templates back first.", revision, strings.Join(braked, ", "))
		}
	}
	return apply.Orphan(ctx, to, view, label)
}

// remove deletes what a NodePlan has applied, if the guards and policies that were last
// applied let it.
func (w *Worker) remove(ctx context.Context, np *lkeplanv1alpha1.NodePlan, to Cluster, record Recorder) error {
	dir, err := os.MkdirTemp(w.Scratch, "nodeplan-")
	if err != nil {
		return fmt.Errorf("make a directory for what was last applied: %w", err)
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
	if writePlan(np, p.Plan, rev.Revision, p.digest); p.Plan.Refused() {
		o := stalled(lkeplanv1alpha1.ReasonGuarded, "it is deleted, and its objects are to go with it, which waits for "+
			"approval: %s To keep the objects, set spec.deletionPolicy to Orphan.", waits(np, p, why))
		return Variables{Secrets: vars.Secrets}.mask(np, o)
	}
	if until, waits := p.Plan.Waits(); waits {
		return waiting(rev, p.Plan, until)
	}
	if err := w.intend(ctx, rev, p, func() {}); err != nil {
		return err
	}
	_, err = apply.Run(ctx, to, compare.Comparison{Plan: p.Plan}, func(apply.Progress) {})
	return err
}
