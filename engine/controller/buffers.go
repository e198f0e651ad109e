package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// bufferTrigger has Karpenter plan again where it would not see in time that nodes
// hold the room of a CapacityBuffer, or no longer do. When Karpenter plans it
// notes, by provider id, which nodes do; others without pods are empty to it
// (karpenter v1.14.1, Provisioner.Reconcile in pkg/controllers/provisioning). But
// the id of a node is a pending one until its NodeClaim has its machine, and the
// end of a buffer makes Karpenter plan nothing.
type bufferTrigger struct {
	plan func(types.UID)
}

func (b *bufferTrigger) Register(_ context.Context, mgr manager.Manager) error {
	never := func(event.CreateEvent) bool { return false }
	bound := predicate.Funcs{CreateFunc: never, UpdateFunc: gotMachine,
		DeleteFunc: func(event.DeleteEvent) bool { return false }}
	ended := predicate.Funcs{CreateFunc: never, UpdateFunc: func(event.UpdateEvent) bool { return false }}
	return ctrl.NewControllerManagedBy(mgr).
		Named("capacitybuffer.trigger").
		Watches(&karpv1.NodeClaim{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(bound)).
		Watches(&autoscalingv1beta1.CapacityBuffer{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(ended)).
		Complete(b)
}

// gotMachine reports whether a NodeClaim's provider id has changed to another.
func gotMachine(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	return okWas && okIs && was.Status.ProviderID != "" && was.Status.ProviderID != is.Status.ProviderID
}

// Reconcile asks Karpenter to plan, which waits a moment for others to ask too.
func (b *bufferTrigger) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	b.plan(types.UID(req.Name))
	return ctrl.Result{}, nil
}
