package gitops

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

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
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) (requests []reconcile.Request) {
		var list lkeplanv1alpha1.NodePlanList
		if err := r.Cache.List(ctx, &list, client.MatchingFields{index: key(obj)}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the NodePlans of an object", "index", index, "key", key(obj))
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
