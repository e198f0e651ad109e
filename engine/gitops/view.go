package gitops

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// nodePlanView is the cluster from the view of one NodePlan: the objects that have its label or are in its source,
// and all nodes and pods in the controller's cache.
type nodePlanView struct {
	*compare.NodeReader
	cluster Cluster                             // as the account of the NodePlan
	label   string                              // the value of the inventory label
	desired map[schemas.Object][]map[string]any // in the source
	applied nodeplan.Inventory                  // finds objects that are not in the source, if their label was removed by hand

	mu       sync.Mutex
	labelled []map[string]any // the objects found so far
}

// cachedNodes reads nodes and pods in a cache.
func cachedNodes(cache client.Reader) *compare.NodeReader {
	return &compare.NodeReader{From: clusters.Shared{Reader: cache}}
}

// newView returns the view of the cluster for a compiled configuration.
func newView(cluster Cluster, cache client.Reader, head compile.Result) *nodePlanView {
	v := &nodePlanView{
		NodeReader: cachedNodes(cache), cluster: cluster, label: head.Inventory, desired: map[schemas.Object][]map[string]any{},
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
	lost, err := v.withoutLabel(ctx, kind, objects)
	if err != nil {
		return nil, err
	}
	objects = append(objects, lost...)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.labelled = append(v.labelled, objects...)
	return objects, nil
}

// withoutLabel returns the objects of the inventory that are neither in the source nor among the found ones, because their
// label was removed by hand, such as a pool that is draining. They are shown with the label, so that they are managed as
// before, and an apply puts it back.
func (v *nodePlanView) withoutLabel(ctx context.Context, kind schemas.Object, found []map[string]any) (lost []map[string]any, err error) {
	known := map[string]bool{}
	for _, obj := range slices.Concat(found, v.desired[kind]) {
		known[nodeplan.EntryOf(obj).ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(v.applied)) {
		parts := strings.Split(id, "_")
		if known[id] || len(parts) != 4 || parts[3] != kind.Kind {
			continue
		}
		like := map[string]any{"apiVersion": kind.APIVersion, "kind": kind.Kind,
			"metadata": map[string]any{"namespace": parts[0], "name": parts[1]}}
		live, err := v.cluster.Get(ctx, like)
		if err != nil {
			return nil, err
		}
		if live != nil && v.applied.Has(live) && kube.Applied(live) && manifest.Label(live, kube.InventoryLabel) == "" {
			live = runtime.DeepCopyJSON(live)
			manifest.Ensure(live, "metadata", "labels")[kube.InventoryLabel] = v.label
			lost = append(lost, live)
		}
	}
	return lost, nil
}

// Found returns the objects with the inventory label that were listed so far.
func (v *nodePlanView) Found() []map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.labelled
}
