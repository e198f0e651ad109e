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

// sight is the cluster as one NodePlan sees it: of objects, those that carry
// its mark or are in its source, however many others there are, and of nodes
// and pods what the controller's cache has of all of them.
type sight struct {
	cluster Cluster
	cache   client.Reader
	mark    string
	wanted  map[schemas.Object][]map[string]any // in the source

	mu      sync.Mutex
	ours    owned
	leaving map[manifest.Key]map[string]any // of ours, those that are deleted already
}

func (w *Worker) look(to Cluster, head compile.Result) *sight {
	s := &sight{cluster: to, cache: w.Cache, mark: head.Inventory, wanted: map[schemas.Object][]map[string]any{}, ours: owned{}, leaving: map[manifest.Key]map[string]any{}}
	for _, m := range head.Manifests() {
		at := schemas.Object{APIVersion: manifest.APIVersion(m), Kind: manifest.Kind(m)}
		s.wanted[at] = append(s.wanted[at], m)
	}
	return s
}

// Objects implements compare.View. It may be called by several goroutines.
func (s *sight) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	objects, err := s.cluster.ListLabelled(ctx, kind.APIVersion, kind.Kind, kube.InventoryLabel, s.mark)
	if meta.IsNoMatchError(err) && len(s.wanted[kind]) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := s.own(objects)
	for _, m := range s.wanted[kind] {
		if known[manifest.KeyOf(m)] {
			continue
		}
		there, err := s.cluster.Get(ctx, m)
		if err != nil {
			return nil, err
		}
		if there != nil {
			objects = append(objects, there)
		}
	}
	return objects, nil
}

func (s *sight) own(objects []map[string]any) owned {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := owned{}
	for _, obj := range objects {
		known[manifest.KeyOf(obj)], s.ours[manifest.KeyOf(obj)] = true, true
		if manifest.Deleted(obj) {
			s.leaving[manifest.KeyOf(obj)] = obj
		}
	}
	return known
}

// owned are the objects that carried the mark when they were looked at.
func (s *sight) owned() owned {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ours
}

// going are those of them that are deleted already, and not gone yet.
func (s *sight) going() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.leaving))
}

// Nodes implements compare.View.
func (s *sight) Nodes(ctx context.Context) ([]plan.Node, error) {
	var claims karpv1.NodeClaimList
	if err := s.cache.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list NodeClaims: %w", err)
	}
	nodes := make([]plan.Node, len(claims.Items))
	for i := range claims.Items {
		nodes[i] = compare.NodeOf(&claims.Items[i])
	}
	return nodes, nil
}

// Holds implements compare.View.
func (s *sight) Holds(ctx context.Context, nodes []plan.Node, now time.Time) ([]plan.Node, []string, error) {
	var machines corev1.NodeList
	var pods corev1.PodList
	var budgets policyv1.PodDisruptionBudgetList
	for _, list := range []client.ObjectList{&machines, &pods, &budgets} {
		if err := s.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("list what holds nodes: %w", err)
		}
	}
	held, err := compare.Hold(nodes, machines.Items, pods.Items, budgets.Items, now)
	return held, nil, err
}
