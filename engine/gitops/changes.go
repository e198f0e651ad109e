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
