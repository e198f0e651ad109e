package nodeclaim

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// IfUnchanged returns the patch from an object as it was read. The API server refuses it with a conflict if another
// client has written the object since: a merge patch replaces lists whole, such as conditions, taints and
// finalizers.
func IfUnchanged(stored client.Object) client.Patch {
	return client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
}

// PatchStatus writes the status of an object, if it has changed, by IfUnchanged.
func PatchStatus(ctx context.Context, c client.Client, stored, changed client.Object) error {
	if equality.Semantic.DeepEqual(stored, changed) {
		return nil
	}
	return c.Status().Patch(ctx, changed, IfUnchanged(stored))
}

// AfterWrite returns what a reconciler returns after a write. If another client wrote first, it tries again when
// the cache may show that, without an error in the log. An object that is gone needs no write.
func AfterWrite(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
