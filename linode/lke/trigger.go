package lke

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Trigger wakes the Syncer when a NodeClaim starts to wait for a machine, or waits again
// though it had one. No other change of a NodeClaim asks for capacity.
type Trigger struct {
	client client.Client
	fleet  *Syncer
}

// NewTrigger returns the controller for a Syncer.
func NewTrigger(c client.Client, fleet *Syncer) *Trigger { return &Trigger{client: c, fleet: fleet} }

// Register implements operatorpkg's Controller, and runs the Syncer for as long
// as this process leads.
func (t *Trigger) Register(_ context.Context, mgr ctrl.Manager) error {
	if err := mgr.Add(t.fleet); err != nil {
		return err
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

func waits(o client.Object) bool {
	nc, ok := o.(*karpv1.NodeClaim)
	return ok && nodeclaim.Managed(nc) && nodeclaim.IsPending(nc.Status.ProviderID)
}

// Reconcile wakes the Syncer, which lists all claims itself: at once where no other
// claim waits for its plan type. For a claim that has a machine it waits until the Syncer
// would store that again: Karpenter writes the pending id over it where its cache lags.
func (t *Trigger) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim karpv1.NodeClaim
	if err := t.client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !waits(&claim) {
		return ctrl.Result{}, nil
	}
	if wait := t.fleet.storedAgainIn(string(claim.UID), time.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
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
