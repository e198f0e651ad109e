package nodeclaim

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
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
