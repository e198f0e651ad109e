package fleet

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Trigger wakes the Fleet when a NodeClaim starts to wait for a machine. No other
// change of a NodeClaim asks for capacity.
type Trigger struct {
	client client.Client
	fleet  *Fleet
}

// NewTrigger returns the controller for a Fleet.
func NewTrigger(c client.Client, fleet *Fleet) *Trigger { return &Trigger{client: c, fleet: fleet} }

// Register implements operatorpkg's Controller, and runs the Fleet for as long
// as this process leads.
func (t *Trigger) Register(_ context.Context, mgr ctrl.Manager) error {
	if err := mgr.Add(t.fleet); err != nil {
		return err
	}
	waits := func(o client.Object) bool {
		nc, ok := o.(*karpv1.NodeClaim)
		return ok && nodeclaim.Managed(nc) && nodeclaim.IsPending(nc.Status.ProviderID) &&
			t.fleet.Assigned(string(nc.UID)) == 0
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nodeclaim.trigger").
		For(&karpv1.NodeClaim{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc:  func(ev event.CreateEvent) bool { return waits(ev.Object) },
			UpdateFunc:  func(ev event.UpdateEvent) bool { return waits(ev.ObjectNew) && !waits(ev.ObjectOld) },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		}).
		Complete(t)
}

// Reconcile wakes the Fleet, which lists all claims itself: at once where no other
// claim waits for its plan type.
func (t *Trigger) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	more, err := t.undecided(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if more {
		t.fleet.Wake()
	} else {
		t.fleet.WakeNow()
	}
	return ctrl.Result{}, nil
}

// undecided reports whether Create has not answered for some claim yet.
func (t *Trigger) undecided(ctx context.Context) (bool, error) {
	var list karpv1.NodeClaimList
	if err := t.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range list.Items {
		if nc := &list.Items[i]; nodeclaim.Managed(nc) && nc.Status.ProviderID == "" && nc.DeletionTimestamp.IsZero() {
			return true, nil
		}
	}
	return false, nil
}
