package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/linode/maintenance"
)

// repair is Karpenter's controller node.health, which replaces nodes that are not ready. It leaves a node alone while
// maintenance of its host explains its state.
type repair struct {
	*health.Controller
	client   client.Client
	provider cloudprovider.CloudProvider
	clock    clock.PassiveClock
}

// Register implements operatorpkg's Controller. Karpenter's predicates would filter out some updates of Nodes, which
// cost little here.
func (r repair) Register(_ context.Context, mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(r.Name()).
		For(&corev1.Node{}, builder.WithPredicates(nodeutils.IsManagedPredicateFuncs(r.provider))).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile implements reconcile.ObjectReconciler.
func (r repair) Reconcile(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	nc, err := nodeutils.NodeClaimForNode(ctx, r.client, node)
	if err == nil && maintenance.Of(nc).Explains(r.clock.Now()) {
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	}
	return r.Controller.Reconcile(ctx, node) // it reports the error
}
