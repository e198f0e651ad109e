package gitops

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// finalize deletes or orphans the objects of a deleted NodePlan, and removes its
// finalizer.
func (r *Reconciler) finalize(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(np, Finalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.detach(ctx, np); err != nil && !refused(err) {
		settle(np, failed(lkeplanv1alpha1.ReasonPruneFailed, "it is deleted, and its objects could not be orphaned: %v", err))
		return ctrl.Result{}, err
	} else if err != nil {
		// Its service account may be deleted already, with their namespace.
		r.Eventf(np, corev1.EventTypeWarning, lkeplanv1alpha1.ReasonPruneFailed, "its objects stay: %v", err)
	}
	r.Worker.Rivals.Forget(client.ObjectKeyFromObject(np))
	controllerutil.RemoveFinalizer(np, Finalizer)
	return ctrl.Result{}, nil
}

// refused reports whether the API server would answer the same to another try.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) || meta.IsNoMatchError(err)
}

// detach deletes the objects of a NodePlan, or orphans them. A NodePlan that is
// suspended or only plans deletes none.
func (r *Reconciler) detach(ctx context.Context, np *lkeplanv1alpha1.NodePlan) error {
	to, err := r.Worker.Connect(np)
	if err != nil {
		return err
	}
	label := inventoryLabel(np)
	remove := np.Spec.DeletionPolicy == lkeplanv1alpha1.DeletionDelete && !np.Spec.Suspend &&
		np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly
	return apply.Detach(ctx, to, r.Worker.viewOf(to, compile.Result{Inventory: label}), label, remove)
}
