package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// view is the cluster as one NodePlan sees it: the objects that carry its inventory
// label or are in its source, however many others there are, and all nodes and
// pods, from the controller's cache.
type view struct {
	cluster Cluster
	cache   client.Reader
	label   string                              // the value of the inventory label
	desired map[schemas.Object][]map[string]any // in the source

	mu       sync.Mutex
	ours     owned
	deleting map[manifest.Key]map[string]any // of ours, those that are deleted already
}

// view returns the cluster as a revision is compared with it.
func (w *Worker) view(rev *revision) *view { return w.viewOf(rev.cluster, rev.head) }

func (w *Worker) viewOf(cluster Cluster, head compile.Result) *view {
	v := &view{
		cluster: cluster, cache: w.Cache, label: head.Inventory, desired: map[schemas.Object][]map[string]any{},
		ours: owned{}, deleting: map[manifest.Key]map[string]any{},
	}
	for _, m := range head.Manifests() {
		kind := schemas.Object{APIVersion: manifest.APIVersion(m), Kind: manifest.Kind(m)}
		v.desired[kind] = append(v.desired[kind], m)
	}
	return v
}

// Objects implements compare.View. It may be called by several goroutines.
func (v *view) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := v.cluster.ListLabelled(ctx, kind.APIVersion, kind.Kind, kube.InventoryLabel, v.label)
	if meta.IsNoMatchError(err) && len(v.desired[kind]) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	labelled := v.remember(objects)
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

func (v *view) remember(objects []map[string]any) owned {
	v.mu.Lock()
	defer v.mu.Unlock()
	labelled := owned{}
	for _, obj := range objects {
		key := manifest.KeyOf(obj)
		labelled[key], v.ours[key] = true, true
		if manifest.Deleted(obj) {
			v.deleting[key] = obj
		}
	}
	return labelled
}

// found returns the keys of the objects that carried the inventory label when
// they were listed, and those of them that are deleted already and not gone yet.
func (v *view) found() (owned, []map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ours, slices.Collect(maps.Values(v.deleting))
}

// Nodes implements compare.View.
func (v *view) Nodes(ctx context.Context) ([]plan.Node, error) {
	var claims karpv1.NodeClaimList
	var machines corev1.NodeList
	for _, list := range []client.ObjectList{&claims, &machines} {
		if err := v.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list the nodes and their NodeClaims: %w", err)
		}
	}
	return compare.NodesOf(claims.Items, machines.Items), nil
}

// Holds implements compare.View.
func (v *view) Holds(ctx context.Context, nodes []plan.Node, now time.Time) ([]plan.Node, []string, error) {
	var machines corev1.NodeList
	var pods corev1.PodList
	var budgets policyv1.PodDisruptionBudgetList
	for _, list := range []client.ObjectList{&machines, &pods, &budgets} {
		if err := v.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("list what holds nodes: %w", err)
		}
	}
	held, err := compare.Hold(nodes, machines.Items, pods.Items, budgets.Items, now)
	return held, nil, err
}

// Notes implements compare.View: what may not be read is an error.
func (v *view) Notes() []string { return nil }
