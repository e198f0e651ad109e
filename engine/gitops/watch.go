package gitops

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/kube"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// kept are the kinds that are watched for changes by others, so that they are
// set back at once. The controller has them in its cache anyway; overlays and
// buffers, which it may not have, are looked at in each interval.
func kept() []client.Object {
	return []client.Object{&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{}}
}

// byInventory is the index of NodePlans by the inventory label of their objects.
const byInventory = ".inventoryLabel"

func indexInventory(obj client.Object) []string {
	np, ok := obj.(*lkeplanv1alpha1.NodePlan)
	if !ok {
		return nil
	}
	return []string{inventoryLabel(np)}
}

// keeper finds the NodePlan that keeps an object.
func (r *Reconciler) keeper(ctx context.Context, obj client.Object) []reconcile.Request {
	var list lkeplanv1alpha1.NodePlanList
	if err := r.List(ctx, &list, client.MatchingFields{byInventory: obj.GetLabels()[kube.InventoryLabel]}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the NodePlan of an object could not be found", "name", obj.GetName())
		return nil
	}
	var requests []reconcile.Request
	for _, np := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&np)})
	}
	return requests
}

// byOthers lets pass what others than lkeplan do to the objects of a NodePlan:
// that they change what an object asks for, or delete it.
type byOthers struct{ predicate.Funcs }

// Create implements predicate.Predicate.
func (byOthers) Create(event.CreateEvent) bool { return false }

// Update implements predicate.Predicate.
func (byOthers) Update(e event.UpdateEvent) bool {
	return ofNodePlan(e.ObjectOld) && e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() &&
		!slices.Equal(writers(e.ObjectOld), writers(e.ObjectNew))
}

// Delete implements predicate.Predicate.
func (byOthers) Delete(e event.DeleteEvent) bool { return ofNodePlan(e.Object) }

func ofNodePlan(obj client.Object) bool {
	return strings.HasPrefix(obj.GetLabels()[kube.InventoryLabel], kube.NodePlanOwner+".")
}

// writers are those who have written an object beside lkeplan, and when; not
// those of its status.
func writers(obj client.Object) (written []string) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != kube.FieldManager && entry.Subresource == "" {
			written = append(written, entry.Manager+" "+moment(entry.Time))
		}
	}
	slices.Sort(written)
	return written
}

func moment(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().String()
}
