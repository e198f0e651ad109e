package lke

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Trigger wakes the Syncer when a NodeClaim starts to wait for a machine.
type Trigger struct {
	client client.Client
	syncer *Syncer
}

// NewTrigger returns the controller for a Syncer.
func NewTrigger(c client.Client, syncer *Syncer) *Trigger { return &Trigger{client: c, syncer: syncer} }

// Register implements operatorpkg's Controller, and runs the Syncer as long as this process is the leader.
func (t *Trigger) Register(_ context.Context, mgr ctrl.Manager) error {
	return nodeclaim.RegisterTrigger(mgr, t.syncer, t)
}

// Reconcile wakes the Syncer, which lists all claims: immediately, if no other claim waits for its plan type. For a
// claim that has a machine, it waits until the Syncer would store the machine again, because Karpenter overwrites
// it with the pending id if its cache lags.
func (t *Trigger) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim karpv1.NodeClaim
	if err := t.client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !nodeclaim.Waits(&claim) {
		return ctrl.Result{}, nil
	}
	var wait time.Duration
	t.syncer.loop.Do(func(m *capacity.Memory, now time.Time) { wait = m.StoredAgainIn(string(claim.UID), now) })
	if wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	more, err := t.undecided(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if more {
		t.syncer.Wake()
	} else {
		t.syncer.loop.WakeNow()
	}
	return ctrl.Result{}, nil
}

// undecided reports whether Create has not answered yet for some claim.
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
