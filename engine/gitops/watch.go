package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
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
		Watches(&lkeplanv1alpha1.DisruptionStop{}, r.enqueueAll()).
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

// ignoreCreated returns a predicate that ignores created objects.
func ignoreCreated(event.CreateEvent) bool { return false }

// changedByOthers passes changes of a spec and deletions of a NodePlan's objects by others than
// lkeplan.
func changedByOthers() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: ignoreCreated,
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ofNodePlan(e.ObjectOld) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() &&
				!slices.Equal(fieldManagers(e.ObjectOld), fieldManagers(e.ObjectNew))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return ofNodePlan(e.Object) },
	}
}

// ownerChanged passes updates after which another NodePlan, or none, manages an object.
func ownerChanged() predicate.Funcs {
	return predicate.Funcs{CreateFunc: ignoreCreated, UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetLabels()[kube.InventoryLabel] != e.ObjectNew.GetLabels()[kube.InventoryLabel]
	}}
}

// idFunc returns a function that computes the ID of an object in inventories.
func idFunc(scheme *runtime.Scheme) func(client.Object) string {
	return func(obj client.Object) string {
		kind, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return "" // all watched kinds are in the scheme
		}
		return nodeplan.ID(obj.GetNamespace(), obj.GetName(), kind.Group, kind.Kind)
	}
}

// ofNodePlan reports whether an object has the inventory label of a NodePlan.
func ofNodePlan(obj client.Object) bool {
	return strings.HasPrefix(obj.GetLabels()[kube.InventoryLabel], kube.NodePlanOwner+".")
}

// fieldManagers lists the field managers that have written an object, each with the time, without
// lkeplan and without those of the status.
func fieldManagers(obj client.Object) (written []string) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != kube.FieldManager && entry.Subresource == "" {
			written = append(written, fmt.Sprint(entry.Manager, " ", entry.Time))
		}
	}
	slices.Sort(written)
	return written
}

// lastAppliedChanged reports updates of a NodePlan that can change the plan of a NodePlan that
// plans for it, or its verdicts: it has applied another revision, or its spec or approval has
// changed.
func lastAppliedChanged(e event.UpdateEvent) bool {
	before, wasPlan := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, isPlan := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return wasPlan && isPlan && (before.Generation != after.Generation || approvalDiffers(e) ||
		before.Status.LastAppliedRevision != after.Status.LastAppliedRevision)
}

// artifactChanged reports updates of a source that change its artifact, or whether its signature is
// verified.
func artifactChanged(e event.UpdateEvent) bool {
	before, wasSource := e.ObjectOld.(fluxSource)
	after, isSource := e.ObjectNew.(fluxSource)
	if !wasSource || !isSource || after.GetArtifact() == nil {
		return false
	}
	is, was := after.GetArtifact(), before.GetArtifact()
	return was == nil || was.Revision != is.Revision || was.Digest != is.Digest ||
		isVerified(before) != isVerified(after)
}

// approvalGiven reports updates of a NodePlan that give it an approval. They do not change the
// generation.
func approvalGiven(e event.UpdateEvent) bool {
	after, ok := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return ok && after.Status.Approval != nil && approvalDiffers(e)
}

// approvalDiffers reports whether an approval was given, changed, used up or withdrawn.
func approvalDiffers(e event.UpdateEvent) bool {
	before, wasPlan := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, isPlan := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return wasPlan && isPlan && !equality.Semantic.DeepEqual(before.Status.Approval, after.Status.Approval)
}

// The indexes of NodePlans in the cache.
const (
	bySource    = ".spec.sourceRef"
	byConfigMap = ".spec.configMapRef" // includes those of variablesFrom
	byPlanFor   = ".spec.planFor"
	byInventory = ".inventoryLabel" // the inventory label of its objects
	byContested = ".status.contested"
)

// addIndexes adds the indexes of NodePlans to a cache.
func addIndexes(ctx context.Context, to client.FieldIndexer) error {
	for index, keys := range map[string]func(*lkeplanv1alpha1.NodePlan) []string{
		bySource:    sourceKeys,
		byConfigMap: configMapKeys,
		byPlanFor:   planForKeys,
		byInventory: func(np *lkeplanv1alpha1.NodePlan) []string { return []string{nodeplan.InventoryLabel(np)} },
		byContested: contestedKeys,
	} {
		err := to.IndexField(ctx, &lkeplanv1alpha1.NodePlan{}, index, func(obj client.Object) []string {
			return keys(obj.(*lkeplanv1alpha1.NodePlan))
		})
		if err != nil {
			return fmt.Errorf("index NodePlans by %s: %w", index, err)
		}
	}
	return nil
}

func sourceKeys(np *lkeplanv1alpha1.NodePlan) []string {
	if np.Spec.SourceRef == nil {
		return nil
	}
	return []string{sourceKey(np)}
}

func configMapKeys(np *lkeplanv1alpha1.NodePlan) (keys []string) {
	if np.Spec.ConfigMapRef != nil {
		keys = append(keys, sourceKey(np))
	}
	for _, from := range np.Spec.VariablesFrom {
		if from.Kind == "ConfigMap" {
			keys = append(keys, indexKey("ConfigMap", np.Namespace, from.Name))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func contestedKeys(np *lkeplanv1alpha1.NodePlan) (keys []string) {
	for _, c := range np.Status.Contested {
		keys = append(keys, c.ID)
	}
	return keys
}

func planForKeys(np *lkeplanv1alpha1.NodePlan) []string {
	at, forAnother := nodeplan.PlannedFor(np)
	if !forAnother {
		return nil
	}
	return []string{indexKey("NodePlan", at.Namespace, at.Name)}
}

func indexKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// keyFunc returns a function that computes the key of an object of a kind. Objects in a cache do not contain their
// kind.
func keyFunc(kind string) func(client.Object) string {
	return func(obj client.Object) string { return indexKey(kind, obj.GetNamespace(), obj.GetName()) }
}

// enqueue returns an event handler that triggers the reconciliation of the NodePlans that an index
// lists for the key of the event's object.
func (r watcher) enqueue(index string, key func(client.Object) string) handler.EventHandler {
	return r.enqueueListed(func(obj client.Object) client.ListOption { return client.MatchingFields{index: key(obj)} })
}

// enqueueAll returns an event handler that triggers the reconciliation of all NodePlans.
func (r watcher) enqueueAll() handler.EventHandler {
	return r.enqueueListed(func(client.Object) client.ListOption { return &client.ListOptions{} })
}

func (r watcher) enqueueListed(of func(client.Object) client.ListOption) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) (requests []reconcile.Request) {
		var list lkeplanv1alpha1.NodePlanList
		if err := r.Cache.List(ctx, &list, of(obj)); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the NodePlans of an object", "object", client.ObjectKeyFromObject(obj))
			return nil
		}
		for _, np := range list.Items {
			if r.InShard(&np) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&np)})
			}
		}
		return requests
	})
}
