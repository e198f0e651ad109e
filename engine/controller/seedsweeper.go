package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
)

// seedSweeper works around kubernetes-sigs/karpenter#3176, which karpenter
// v1.14.3 mends: the provisioner puts a NodeClaim that it made into Karpenter's
// state by itself. Where the NodeClaim was deleted again before that, the entry
// stays for ever without a provider id, and Karpenter, which never again takes
// its state for complete, plans nothing until a restart.
//
// Some time after each creation the entry is taken out where the API server
// does not have the NodeClaim.
type seedSweeper struct {
	client  client.Client
	cluster *state.Cluster
}

// sweepAfter is longer than the provisioner takes from the creation of a
// NodeClaim to its entry.
const sweepAfter = 15 * time.Second

func (s *seedSweeper) Register(_ context.Context, mgr ctrl.Manager) error {
	later := handler.Funcs{
		CreateFunc: func(_ context.Context, ev event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(ev.Object)}, sweepAfter)
		},
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nodeclaim.seedsweeper").
		Watches(&karpv1.NodeClaim{}, later).
		Complete(s)
}

func (s *seedSweeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var nc karpv1.NodeClaim
	err := s.client.Get(ctx, req.NamespacedName, &nc)
	if apierrors.IsNotFound(err) && s.cluster.NodeClaimExists(req.Name) {
		s.cluster.DeleteNodeClaim(req.Name)
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
