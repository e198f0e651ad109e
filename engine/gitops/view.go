package gitops

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// nodePlanView is the cluster from the view of one NodePlan: the objects that have its label or are in its source,
// and all nodes and pods in the controller's cache.
type nodePlanView struct {
	cluster Cluster // as the account of the NodePlan
	cache   client.Reader
	label   string                              // the value of the inventory label
	desired map[schemas.Object][]map[string]any // in the source

	mu       sync.Mutex
	labelled []map[string]any // the objects found so far
}

// newView returns the view of the cluster for a compiled configuration.
func newView(cluster Cluster, cache client.Reader, head compile.Result) *nodePlanView {
	v := &nodePlanView{
		cluster: cluster, cache: cache, label: head.Inventory, desired: map[schemas.Object][]map[string]any{},
	}
	for _, m := range head.Manifests() {
		kind := schemas.Object{APIVersion: manifest.APIVersion(m), Kind: manifest.Kind(m)}
		v.desired[kind] = append(v.desired[kind], m)
	}
	return v
}

// Objects implements compare.View. It is safe for concurrent use.
func (v *nodePlanView) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := v.List(ctx, kind)
	if err != nil {
		return nil, err
	}
	labelled := map[manifest.Key]bool{}
	for _, obj := range objects {
		labelled[manifest.KeyOf(obj)] = true
	}
	for _, m := range v.desired[kind] {
		if labelled[manifest.KeyOf(m)] {
			continue
		}
		live, err := v.cluster.Get(ctx, m)
		if err != nil {
			return nil, err
		}
		if live != nil {
			objects = append(objects, live)
		}
	}
	return objects, nil
}

// List lists the objects of a kind with the inventory label, and remembers them.
func (v *nodePlanView) List(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := v.cluster.ListLabelled(ctx, kind.APIVersion, kind.Kind, kube.InventoryLabel, v.label)
	if meta.IsNoMatchError(err) && len(v.desired[kind]) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.labelled = append(v.labelled, objects...)
	return objects, nil
}

// Found returns the objects with the inventory label that were listed so far.
func (v *nodePlanView) Found() []map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.labelled
}

// Nodes implements compare.View.
func (v *nodePlanView) Nodes(ctx context.Context) ([]plan.Node, error) {
	read, err := clusters.Cached(ctx, v.cache, &karpv1.NodeClaimList{}, &corev1.NodeList{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes and their NodeClaims: %w", err)
	}
	return compare.NodesOf(read.Claims, read.Nodes), nil
}

// Holds implements compare.View.
func (v *nodePlanView) Holds(ctx context.Context, nodes []plan.Node, changes []plan.Change, now time.Time) ([]plan.Node, []string, error) {
	read, err := clusters.Cached(ctx, v.cache, &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{},
		&karpv1.NodePoolList{})
	if err != nil {
		return nil, nil, fmt.Errorf("list what blocks nodes: %w", err)
	}
	held, err := compare.Hold(nodes, changes, read, now)
	return held, nil, err
}

// Whole implements compare.View. It includes volumes, because without them too many pods would seem to fit on a
// node, and nodes that only the change moves would seem to go anyway and would not count.
func (v *nodePlanView) Whole(ctx context.Context, changed []client.Object) (found compare.Whole, err error) {
	for _, list := range []client.ObjectList{&karpv1alpha1.NodeOverlayList{}, &autoscalingv1beta1.CapacityBufferList{}, &karpv1.NodePoolList{},
		&linodev1alpha1.LinodeNodeClassList{}, &lkeplanv1alpha1.CapacityLimitList{}} {
		if err := v.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil && !meta.IsNoMatchError(err) {
			return found, fmt.Errorf("list what consolidation depends on: %w", err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // it never returns an error
			found.Objects = append(found.Objects, item.(client.Object))
			return nil
		})
	}
	templates, err := compare.Templates(slices.Concat(found.Objects, changed), func(list client.ObjectList) error {
		return v.cache.List(ctx, list, client.UnsafeDisableDeepCopy)
	})
	if err != nil {
		return found, fmt.Errorf("list the pods of buffers: %w", err)
	}
	read, err := clusters.Cached(ctx, v.cache, &corev1.NodeList{}, &karpv1.NodeClaimList{}, &corev1.PodList{},
		&policyv1.PodDisruptionBudgetList{}, &appsv1.DaemonSetList{}, &corev1.NamespaceList{}, &corev1.PersistentVolumeClaimList{},
		&corev1.PersistentVolumeList{}, &storagev1.StorageClassList{})
	if err != nil {
		return found, fmt.Errorf("list what consolidation depends on: %w", err)
	}
	volumes := simulate.NewVolumeIndex(read.Volumes.Claims, read.Volumes.All, read.Volumes.Classes)
	found.Shapes = workload.ShapesOf(read, volumes, templates...)
	return found, nil
}

// Notes implements compare.View. It returns nothing, because here a kind that cannot be listed is an error.
func (v *nodePlanView) Notes() []string { return nil }
