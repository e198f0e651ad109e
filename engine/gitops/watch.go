package gitops

import (
	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/kube"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// watcher triggers the reconciliation of a NodePlan when something that it depends on changes: the
// NodePlan, its source, its variables, its objects, or another NodePlan. It does not watch Secrets,
// because permission to watch Secrets is permission to read all of them.
type watcher struct {
	Cache      client.Reader // has the indexes that addIndexes adds
	InShard    func(*lkeplanv1alpha1.NodePlan) bool
	Concurrent int // NodePlans at a time; at least 1
}

// Watch adds a controller for NodePlans to a manager. It reconciles a NodePlan when it changes, when
// its source, its variables or its planFor target changes, and when others change its objects.
func (r watcher) Watch(mgr manager.Manager, reconciler reconcile.Reconciler) error {
	requested := predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{},
		predicate.Funcs{UpdateFunc: approvalGiven})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nodeplan").
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: max(r.Concurrent, 1)}).
		For(&lkeplanv1alpha1.NodePlan{}, builder.WithPredicates(requested)).
		Watches(&lkeplanv1alpha1.NodePlan{}, r.enqueue(byPlanFor, keyFunc("NodePlan")),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: lastAppliedChanged})).
		WatchesMetadata(&corev1.ConfigMap{}, r.enqueue(byConfigMap, keyFunc("ConfigMap")),
			builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	inventory := r.enqueue(byInventory, func(obj client.Object) string { return obj.GetLabels()[kube.InventoryLabel] })
	// The cache of the controller contains these kinds anyway. It may lack overlays and buffers,
	// which are listed in each interval.
	for _, obj := range []client.Object{
		&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{},
	} {
		b = b.Watches(obj, inventory, builder.WithPredicates(changedByOthers())).
			Watches(obj, inventory, builder.WithPredicates(ownerChanged())).
			Watches(obj, r.enqueue(byContested, idFunc(mgr.GetScheme())), builder.WithPredicates(ownerChanged()))
	}
	for kind, empty := range fluxKinds() {
		known, err := kube.Serves(mgr.GetRESTMapper(), sourcev1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if known {
			b = b.Watches(empty(), r.enqueue(bySource, keyFunc(kind)), builder.WithPredicates(predicate.Funcs{UpdateFunc: artifactChanged}))
		}
	}
	return b.Complete(reconciler)
}
