package gitops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/predicates"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/gitops/holding"
	"github.com/lkeplan/lkeplan/engine/gitops/origin"
	"github.com/lkeplan/lkeplan/kube"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// watch has a NodePlan reconciled when it changes, when its source, its variables
// or the NodePlan that it plans for do, and when others change its objects.
func watch(mgr manager.Manager, r *Reconciler, concurrent int) error {
	requested := predicate.Or(predicate.GenerationChangedPredicate{}, predicates.ReconcileRequestedPredicate{},
		approvalGiven{})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nodeplan").
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: max(concurrent, 1)}).
		For(&lkeplanv1alpha1.NodePlan{}, builder.WithPredicates(requested)).
		Watches(&lkeplanv1alpha1.NodePlan{}, r.enqueue(byPlanFor, keyOf("NodePlan")),
			builder.WithPredicates(lastAppliedChanged{})).
		WatchesMetadata(&corev1.ConfigMap{}, r.enqueue(byConfigMap, keyOf("ConfigMap")),
			builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	inventory := r.enqueue(byInventory, func(obj client.Object) string { return obj.GetLabels()[kube.InventoryLabel] })
	// The controller has these kinds in its cache anyway. Overlays and buffers, which
	// it may not have, are listed in each interval.
	for _, obj := range []client.Object{
		&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{},
	} {
		b = b.Watches(obj, inventory, builder.WithPredicates(changedByOthers{})).
			Watches(obj, inventory, builder.WithPredicates(changedHands{})).
			Watches(obj, r.enqueue(byContested, idOf(mgr.GetScheme())), builder.WithPredicates(changedHands{}))
	}
	for kind, empty := range origin.Kinds() {
		known, err := kube.Serves(mgr.GetRESTMapper(), sourcev1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		if known {
			b = b.Watches(empty(), r.enqueue(bySource, keyOf(kind)), builder.WithPredicates(revised{}))
		}
	}
	return b.Complete(r)
}

// changedByOthers passes what others than lkeplan do to the objects of a
// NodePlan: that they change its spec, or delete it.
type changedByOthers struct{ predicate.Funcs }

// Create implements predicate.Predicate.
func (changedByOthers) Create(event.CreateEvent) bool { return false }

// Update implements predicate.Predicate.
func (changedByOthers) Update(e event.UpdateEvent) bool {
	return ofNodePlan(e.ObjectOld) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() &&
		!slices.Equal(writers(e.ObjectOld), writers(e.ObjectNew))
}

// Delete implements predicate.Predicate.
func (changedByOthers) Delete(e event.DeleteEvent) bool { return ofNodePlan(e.Object) }

// changedHands passes what makes an object another NodePlan's, or nobody's.
type changedHands struct{ predicate.Funcs }

// Create implements predicate.Predicate.
func (changedHands) Create(event.CreateEvent) bool { return false }

// Update implements predicate.Predicate.
func (changedHands) Update(e event.UpdateEvent) bool {
	return e.ObjectOld.GetLabels()[kube.InventoryLabel] != e.ObjectNew.GetLabels()[kube.InventoryLabel]
}

// idOf returns a function that returns what inventories call an object.
func idOf(scheme *runtime.Scheme) func(client.Object) string {
	return func(obj client.Object) string {
		kind, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return "" // the kinds that are watched are all known
		}
		return holding.ID(obj.GetNamespace(), obj.GetName(), kind.Group, kind.Kind)
	}
}

func ofNodePlan(obj client.Object) bool {
	return strings.HasPrefix(obj.GetLabels()[kube.InventoryLabel], kube.NodePlanOwner+".")
}

// writers are the other field managers than lkeplan that have written an object,
// each with the time; those of its status are left out.
func writers(obj client.Object) (written []string) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != kube.FieldManager && entry.Subresource == "" {
			written = append(written, fmt.Sprint(entry.Manager, " ", entry.Time))
		}
	}
	slices.Sort(written)
	return written
}

// lastAppliedChanged passes the updates of a NodePlan after which another one that
// plans for it gets another plan, or other verdicts on it: it has applied another
// revision, or its spec or its approval has changed.
type lastAppliedChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (lastAppliedChanged) Update(e event.UpdateEvent) bool {
	before, wasPlan := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, isPlan := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return wasPlan && isPlan && (before.Generation != after.Generation || approvalDiffers(e) ||
		before.Status.LastAppliedRevision != after.Status.LastAppliedRevision)
}

// revised passes the updates of a source that bring another artifact, or after
// which its signature is verified, or no longer.
type revised struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (revised) Update(e event.UpdateEvent) bool {
	before, wasSource := e.ObjectOld.(origin.FluxSource)
	after, isSource := e.ObjectNew.(origin.FluxSource)
	if !wasSource || !isSource || after.GetArtifact() == nil {
		return false
	}
	is, was := after.GetArtifact(), before.GetArtifact()
	return was == nil || was.Revision != is.Revision || was.Digest != is.Digest ||
		origin.Verified(before) != origin.Verified(after)
}
