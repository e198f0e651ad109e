package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// node is a node of the pool, as the model knows it.
type node struct {
	hash    string
	leaving bool
}

// world is a cluster with one pool that is declared and removed, a Karpenter that may be
// behind, a person who edits the pool, and a controller that keeps nothing in memory: it
// may be killed between any two steps.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	api       *kube.Validator
	now       time.Time
	declared  bool
	source    map[string]any // the pool as it is written
	live      map[string]any // nil: there is none
	seen      map[string]any // the live pool as Karpenter's scheduler knows it
	nodes     map[int]*node
	made      int
	elsewhere bool // there is room for pods in other pools
	log       []string
}

func (w *world) step(what string) { w.log = append(w.log, what) }

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nafter %v", fmt.Sprintf(format, args...), w.log[max(0, len(w.log)-25):])
}

// apply is what the API server makes of a server-side apply, by its own code.
func (w *world) apply(desired map[string]any) {
	w.t.Helper()
	predicted, _, err := w.api.Predict(w.live, desired)
	if err != nil {
		w.fatalf("apply: %v", err)
	}
	if w.live == nil {
		manifest.Ensure(predicted, "metadata")["uid"] = fmt.Sprint("uid ", w.made)
	}
	w.live = predicted
}

func (w *world) typed(pool map[string]any) *karpv1.NodePool {
	w.t.Helper()
	typed := &karpv1.NodePool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pool, typed); err != nil {
		w.fatalf("read the pool: %v", err)
	}
	return typed
}

// reconcile does what the controller does.
func (w *world) reconcile() {
	w.step("reconcile")
	if w.declared {
		w.apply(w.source)
		return
	}
	if w.live == nil {
		return
	}
	var nodes []Node
	for _, n := range w.nodes {
		nodes = append(nodes, Node{
			Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: n.hash}, Initialized: true, Deleting: n.leaving,
		})
	}
	switch stage := NextRemoval(w.live, len(nodes)); stage {
	case RemoveAtOnce, Drained:
		if len(w.nodes) > 0 {
			w.fatalf("stage %q deletes a pool with %d nodes", stage, len(w.nodes))
		}
		w.live = nil
	case StartRemoval, Draining:
		desired, err := MarkRemoval(w.live, nodes, w.now)
		if err != nil {
			w.fatalf("start the removal: %v", err)
		}
		w.apply(desired)
	}
}

// schedule makes a node, by the pool as the scheduler knows it.
func (w *world) schedule() {
	if w.seen == nil || w.live == nil {
		return
	}
	pool := w.typed(w.seen)
	if limit, limited := pool.Spec.Limits["nodes"]; limited && int64(len(w.nodes)) >= limit.Value() {
		return
	}
	if r := pool.Spec.Replicas; r != nil && w.staying() >= int(*r) {
		return
	}
	w.step("make")
	w.made++
	w.nodes[w.made] = &node{hash: pool.Hash()}
}

func (w *world) staying() (n int) {
	for _, node := range w.nodes {
		if !node.leaving {
			n++
		}
	}
	return n
}

// disrupt lets nodes go as Karpenter does: drifted ones within the budgets, where their
// pods have room elsewhere; of a pool with replicas those that are too many.
func (w *world) disrupt() {
	if w.live == nil {
		return
	}
	pool := w.typed(w.live)
	if pool.Spec.Replicas != nil {
		for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
			if n := w.nodes[id]; !n.leaving && w.staying() > int(*pool.Spec.Replicas) {
				n.leaving = true
			}
		}
		return
	}
	may, err := pool.GetAllowedDisruptionsByReason(schedule.ClockAt(w.now), len(w.nodes), karpv1.DisruptionReasonDrifted)
	if err != nil {
		w.fatalf("budgets: %v", err)
	}
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n, leaving := w.nodes[id], len(w.nodes)-w.staying()
		if n.hash != pool.Hash() && !n.leaving && w.elsewhere && leaving < may {
			n.leaving = true
			w.step("disrupt")
		}
	}
}

// gone removes the nodes whose pods have been evicted.
func (w *world) gone() {
	maps.DeleteFunc(w.nodes, func(_ int, n *node) bool { return n.leaving && w.rng.IntN(2) == 0 })
}

// edit is what a person does to the pool who does not know what is going on.
func (w *world) edit() {
	if w.live == nil {
		return
	}
	w.step("edit")
	w.live = runtime.DeepCopyJSON(w.live)
	switch w.rng.IntN(3) {
	case 0:
		delete(manifest.Map(w.live, "spec", "limits"), "nodes")
	case 1:
		delete(manifest.Map(w.live, "spec", "template", "metadata", "annotations"), schemas.AnnotationRemoval)
	case 2:
		if _, condemned := ReadRemoval(w.live); condemned {
			manifest.Ensure(w.live, "metadata", "annotations")[schemas.AnnotationRemoval] = "soon"
		}
	}
}

// random is a random step of a user.
func (w *world) random() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(120)) * time.Second)
	switch w.rng.IntN(12) {
	case 0:
		w.step("commit")
		w.declared = !w.declared
	case 1:
		w.edit()
	case 2:
		w.elsewhere = !w.elsewhere
	case 3, 4, 5:
		w.reconcile()
	case 6:
		w.seen = w.live
	case 7, 8:
		w.schedule()
	case 9, 10:
		w.disrupt()
	case 11:
		w.gone()
	}
}

// declaredAgain checks that nothing is left of a removal on a pool that is declared.
func (w *world) declaredAgain() {
	w.declared = true
	w.reconcile()
	fresh, _, err := w.api.Predict(nil, w.source)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(fresh["spec"], w.live["spec"]); diff != "" {
		w.fatalf("the pool that is declared again (-want +got):\n%s", diff)
	}
	if _, condemned := ReadRemoval(w.live); condemned {
		w.fatalf("it is still draining")
	}
}

// removed checks that a pool that is no longer declared or edited is deleted at the end.
func (w *world) removed() {
	w.declared, w.elsewhere = false, true
	for range 400 {
		w.now = w.now.Add(time.Minute)
		w.reconcile()
		w.seen = w.live
		w.schedule()
		w.disrupt()
		w.gone()
		if w.live == nil {
			return
		}
	}
	w.fatalf("after 400 rounds it has %d nodes: %v", len(w.nodes), w.live["spec"])
}

// TestAPoolDrainsBeforeItIsDeleted walks through random histories.
func TestAPoolDrainsBeforeItIsDeleted(t *testing.T) {
	api := kube.BuiltinValidator()
	for name, tt := range map[string]struct {
		limits   map[string]any
		replicas *int64
	}{
		"no limits":         {},
		"a limit of CPUs":   {limits: map[string]any{"cpu": "400"}},
		"a limit of nodes":  {limits: map[string]any{"nodes": "12"}},
		"a number of nodes": {replicas: ptr.To(int64(7))},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				w := &world{
					t: t, rng: rand.New(rand.NewPCG(seed, 1)), api: api, nodes: map[int]*node{}, elsewhere: true, declared: true,
					now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), source: pool(tt.limits, tt.replicas),
				}
				w.reconcile()
				for range 200 {
					w.random()
				}
				w.declaredAgain()
				for range 100 {
					w.random()
				}
				w.removed()
			}
		})
	}
}

// pool is a NodePool as it is written.
func pool(limits map[string]any, replicas *int64) map[string]any {
	spec := map[string]any{
		"disruption": map[string]any{"consolidateAfter": "10m", "budgets": []any{map[string]any{"nodes": "3"}}},
		"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"example.com/team": "web"}},
			"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
				"requirements": []any{},
			},
		},
	}
	if limits != nil {
		spec["limits"] = limits
	}
	if replicas != nil {
		spec["replicas"] = *replicas
	}
	return map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": spec,
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"lkeplan.dev/part-of": "dev"}},
	}
}
