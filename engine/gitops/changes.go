package gitops

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// never passes no new object.
func never(event.CreateEvent) bool { return false }

// changedByOthers passes what others than lkeplan do to the objects of a
// NodePlan: that they change its spec, or delete it.
func changedByOthers() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: never,
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ofNodePlan(e.ObjectOld) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() &&
				!slices.Equal(writers(e.ObjectOld), writers(e.ObjectNew))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return ofNodePlan(e.Object) },
	}
}

// ownerChanged passes what makes an object another NodePlan's, or unowned.
func ownerChanged() predicate.Funcs {
	return predicate.Funcs{CreateFunc: never, UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetLabels()[kube.InventoryLabel] != e.ObjectNew.GetLabels()[kube.InventoryLabel]
	}}
}

// idOf returns a function that returns what inventories call an object.
func idOf(scheme *runtime.Scheme) func(client.Object) string {
	return func(obj client.Object) string {
		kind, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return "" // the kinds that are watched are all known
		}
		return nodeplan.ID(obj.GetNamespace(), obj.GetName(), kind.Group, kind.Kind)
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

// lastAppliedChanged reports the updates of a NodePlan after which another one that
// plans for it gets another plan, or other verdicts on it: it has applied another
// revision, or its spec or its approval has changed.
func lastAppliedChanged(e event.UpdateEvent) bool {
	before, wasPlan := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, isPlan := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return wasPlan && isPlan && (before.Generation != after.Generation || approvalDiffers(e) ||
		before.Status.LastAppliedRevision != after.Status.LastAppliedRevision)
}

// revised reports the updates of a source that bring another artifact, or after
// which its signature is verified, or no longer.
func revised(e event.UpdateEvent) bool {
	before, wasSource := e.ObjectOld.(fluxSource)
	after, isSource := e.ObjectNew.(fluxSource)
	if !wasSource || !isSource || after.GetArtifact() == nil {
		return false
	}
	is, was := after.GetArtifact(), before.GetArtifact()
	return was == nil || was.Revision != is.Revision || was.Digest != is.Digest ||
		verified(before) != verified(after)
}

// approvalGiven reports the updates of a NodePlan that give it an approval: the status has
// no generation.
func approvalGiven(e event.UpdateEvent) bool {
	after, ok := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return ok && after.Status.Approval != nil && approvalDiffers(e)
}

// approvalDiffers reports whether an approval was given, changed, used up or taken back.
func approvalDiffers(e event.UpdateEvent) bool {
	before, wasPlan := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, isPlan := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	return wasPlan && isPlan && !equality.Semantic.DeepEqual(before.Status.Approval, after.Status.Approval)
}
