package nodeclaim

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// RegisterTrigger calls trigger when a NodeClaim starts to wait for a machine, or waits again although it had one,
// and runs run, which creates machines, while this process is the leader. No other change of a NodeClaim requests
// capacity.
func RegisterTrigger(mgr manager.Manager, run manager.Runnable, trigger reconcile.Reconciler) error {
	if err := mgr.Add(run); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.trigger").For(&karpv1.NodeClaim{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc:  func(ev event.CreateEvent) bool { return Waits(ev.Object) },
			UpdateFunc:  func(ev event.UpdateEvent) bool { return Waits(ev.ObjectNew) && !Waits(ev.ObjectOld) },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		}).Complete(trigger)
}

// Waits reports whether an object is a NodeClaim that waits for a machine of this provider.
func Waits(o client.Object) bool {
	nc, ok := o.(*karpv1.NodeClaim)
	return ok && Managed(nc) && IsPending(nc.Status.ProviderID)
}

// Collect returns an event handler that adds the requests of another one after a delay. A request that comes during
// the delay of an equal one does not add another: a controller that lists all NodeClaims of a NodePool would else list
// them for each event of a burst of nodes.
func Collect(delay time.Duration, events handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, ev event.CreateEvent, q queue) { events.Create(ctx, ev, later{q, delay}) },
		UpdateFunc: func(ctx context.Context, ev event.UpdateEvent, q queue) { events.Update(ctx, ev, later{q, delay}) },
		DeleteFunc: func(ctx context.Context, ev event.DeleteEvent, q queue) { events.Delete(ctx, ev, later{q, delay}) },
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type later struct {
	queue
	delay time.Duration
}

// Add implements workqueue.TypedInterface.
func (l later) Add(request reconcile.Request) { l.AddAfter(request, l.delay) }
