package moveover_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/moveover"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// world is a cluster of two nodes in LKE pool 1. Pods that are evicted are made again, and
// get a node elsewhere after a while.
type world struct {
	nodes, pods []map[string]any
	did         []string

	budget string        // as long as it is set, no pod "guarded" may go
	lifted time.Time     // when it ends; never where it is zero
	room   time.Duration // until a node elsewhere takes a pod; 0: never
	made   map[string]time.Time
	serial int
	fails  error // of the next eviction
}

func newWorld(pods ...map[string]any) *world {
	w := &world{room: 5 * time.Second, made: map[string]time.Time{}}
	for _, name := range []string{"lke77-1-a", "lke77-1-b"} {
		w.nodes = append(w.nodes, map[string]any{"kind": "Node", "metadata": map[string]any{
			"name": name, "labels": map[string]any{"lke.linode.com/pool-id": "1"},
		}})
	}
	w.pods = pods
	return w
}

func pod(name, node, owner string) map[string]any {
	p := map[string]any{"kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "a", "uid": name + "-0"},
		"spec": map[string]any{}}
	if node != "" {
		p["spec"] = map[string]any{"nodeName": node}
	}
	if owner != "" {
		p["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"kind": owner, "controller": true}}
	}
	return p
}

func (w *world) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	if kind == "Node" {
		return slices.Clone(w.nodes), nil
	}
	for _, p := range w.pods {
		if at, found := w.made[manifest.UID(p)]; found && w.room > 0 && time.Since(at) >= w.room {
			manifest.Ensure(p, "spec")["nodeName"] = "elsewhere"
		}
	}
	return slices.Clone(w.pods), nil
}

func (w *world) Merge(_ context.Context, obj, change map[string]any, _ string) error {
	manifest.Ensure(obj, "spec")["unschedulable"] = change["spec"].(map[string]any)["unschedulable"]
	w.did = append(w.did, "cordon "+manifest.Name(obj))
	return nil
}

func (w *world) Evict(_ context.Context, pod map[string]any) (string, error) {
	if w.fails != nil {
		return "", w.fails
	}
	name := manifest.Name(pod)
	if w.budget != "" && (w.lifted.IsZero() || time.Now().Before(w.lifted)) && strings.HasPrefix(name, "guarded") {
		return w.budget, nil
	}
	w.did = append(w.did, "evict "+name)
	w.pods = slices.DeleteFunc(w.pods, func(p map[string]any) bool { return manifest.UID(p) == manifest.UID(pod) })
	if manifest.Map(pod, "metadata")["ownerReferences"] == nil {
		return "", nil
	}
	w.serial++
	again := map[string]any{"kind": "Pod", "spec": map[string]any{}, "metadata": map[string]any{
		"name": name, "namespace": "a", "uid": fmt.Sprint(name, "-", w.serial),
		"ownerReferences": manifest.Map(pod, "metadata")["ownerReferences"],
	}}
	w.pods, w.made[manifest.UID(again)] = append(w.pods, again), time.Now()
	return "", nil
}

func (w *world) ChangePool(_ context.Context, _, pool int, change lkeapi.PoolChange) error {
	w.did = append(w.did, fmt.Sprintf("pool %d: autoscaler %v", pool, change.Autoscaler.Enabled))
	return nil
}

func (w *world) DeletePool(_ context.Context, _, pool int) error {
	w.did = append(w.did, fmt.Sprintf("delete pool %d", pool))
	return nil
}

func (w *world) move() moveover.Move {
	return moveover.Move{Cluster: w, LKE: w, ClusterID: 77, Patience: time.Minute, Report: func(moveover.Step) {}}
}

func lkePool() lkeapi.Pool { return lkeapi.Pool{ID: 1, Count: 2} }

// TestPodsMoveNodeByNode, budgets are waited for, and the LKE pool goes last.
func TestPodsMoveNodeByNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("agent", "lke77-1-a", "DaemonSet"),
			pod("guarded", "lke77-1-b", "StatefulSet"), pod("other", "elsewhere", "ReplicaSet"), pod("old", "", "Job"))
		w.budget, w.lifted = "it needs 1 pod and has 1", time.Now().Add(20*time.Second)
		p := lkePool()
		p.Autoscaler = lkeapi.Autoscaler{Enabled: true, Min: 1, Max: 3}
		if err := w.move().Pool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		want := []string{"pool 1: autoscaler false", "cordon lke77-1-a", "cordon lke77-1-b", "evict one", "evict guarded",
			"delete pool 1"}
		if diff := cmp.Diff(want, w.did); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
	})
}

// TestAMoveStops where pods cannot go or find no room, says so, and goes on when it is asked
// again.
func TestAMoveStops(t *testing.T) {
	broken := errors.New("connection refused")
	tests := map[string]struct {
		break_ func(*world)
		mend   func(*world)
		want   string
	}{
		"a budget never allows it": {func(w *world) { w.budget = "it needs 1 pod and has 1" },
			func(w *world) { w.budget = "" }, "the move has stopped at node lke77-1-b:\n  a/guarded: it needs 1 pod and has 1"},
		"no room elsewhere": {func(w *world) { w.room = 0 },
			func(w *world) { w.room = time.Second },
			"the move has stopped at node lke77-1-a:\n  a/one finds no room on another node"},
		"the API server is gone": {func(w *world) { w.fails = broken }, func(w *world) { w.fails = nil }, "connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("guarded", "lke77-1-b", "StatefulSet"))
				test.break_(w)
				err := w.move().Pool(t.Context(), lkePool())
				if err == nil || err.Error() != test.want {
					t.Fatalf("%v, want %s", err, test.want)
				}
				if errors.Is(err, moveover.ErrStopped) == errors.Is(err, broken) {
					t.Errorf("%v: is it a pod that holds the move?", err)
				}
				if slices.Contains(w.did, "delete pool 1") {
					t.Fatal("the LKE pool is deleted")
				}
				test.mend(w)
				if err := w.move().Pool(t.Context(), lkePool()); err != nil {
					t.Fatal(err)
				}
				if w.did[len(w.did)-1] != "delete pool 1" {
					t.Errorf("it does not go on: %v", w.did)
				}
			})
		})
	}
}

// TestWhatSpeaksAgainstAMove is said before anything is changed.
func TestWhatSpeaksAgainstAMove(t *testing.T) {
	controller := pod("lkeplan", "lke77-1-b", "ReplicaSet")
	controller["metadata"].(map[string]any)["labels"] = map[string]any{"app.kubernetes.io/part-of": "lkeplan"}
	tests := map[string]struct {
		pod  map[string]any
		pool int
		want string
	}{
		"nothing":            {pod("one", "lke77-1-a", "Job"), 1, ""},
		"a pod without":      {pod("by-hand", "lke77-1-a", ""), 1, "nobody would make the pod a/by-hand again"},
		"the controller":     {controller, 1, "the controller, a/lkeplan, runs on LKE pool 1"},
		"another kubeconfig": {pod("one", "lke77-1-a", "Job"), 2, "this cluster has no node of LKE pool 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(test.pod), lkePool()
			p.ID = test.pool
			err := w.move().Check(t.Context(), []lkeapi.Pool{p})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if len(w.did) > 0 {
				t.Errorf("it did %v", w.did)
			}
		})
	}
}
