package migrate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestPodsMoveNodeByNode within their budgets, and the LKE pool is deleted last.
func TestPodsMoveNodeByNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("agent", "lke77-1-a", "DaemonSet"),
			pod("guarded", "lke77-1-b", "StatefulSet"), pod("other", "elsewhere", "ReplicaSet"), pod("old", "", "Job"))
		w.budget, w.lifted = "it needs 1 pod and has 1", time.Now().Add(50*time.Second)
		w.pools[0].Autoscaler = api.Autoscaler{Enabled: true, Min: 1, Max: 3}
		if err := w.move().Pool(t.Context(), w.pools[0]); err != nil {
			t.Fatal(err)
		}
		want := []string{"pool 1: autoscaler false", "cordon lke77-1-a", "cordon lke77-1-b", "evict one", "evict guarded",
			"delete pool 1"}
		if diff := cmp.Diff(want, w.did); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
		if !slices.Contains(w.said, migrate.Step{Kind: "Node", Name: "lke77-1-b",
			What: "waiting: a/guarded: it needs 1 pod and has 1"}) {
			t.Errorf("it does not report what it is waiting for: %v", w.said)
		}
	})
}

// TestAllAutoscalersAreOffBeforePodsMove: otherwise they would create nodes for pending pods.
func TestAllAutoscalersAreOffBeforePodsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.pools = []api.Pool{{ID: 1, Autoscaler: api.Autoscaler{Enabled: true, Min: 1, Max: 3}}, {ID: 2},
			{ID: 3, Autoscaler: api.Autoscaler{Enabled: true, Min: 1, Max: 3}}}
		w.fails["change"] = []error{nil, &api.Error{Status: 503}}
		if err := w.move().Hold(t.Context(), slices.Clone(w.pools)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"pool 1: autoscaler false", "pool 3: autoscaler false"}, w.did); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
	})
}

// TestMoveWaitsForMovedPods, and for no others.
func TestMoveWaitsForMovedPods(t *testing.T) {
	tests := map[string]struct {
		begin func(*world)
		least time.Duration
	}{
		"pods that are slow to start": {func(w *world) { w.start = 30 * time.Second }, 70 * time.Second},
		"a DaemonSet whose pod does not fit": {func(w *world) {
			w.pods = append(w.pods, pod("agent", "", "DaemonSet"))
		}, 0},
		"new pending pods of other owners": {func(w *world) {
			w.happens["evict one"] = func(w *world) { w.pods = append(w.pods, pod("batch", "", "Job")) }
		}, 0},
		"pods of the same owner that were pending before": {func(w *world) {
			waits := pod("waits", "", "ReplicaSet")
			manifest.Ensure(waits, "metadata")["ownerReferences"] = manifest.Map(w.pods[0], "metadata")["ownerReferences"]
			manifest.Ensure(w.makers[0], "spec")["replicas"] = int64(2)
			w.pods = append(w.pods, waits)
		}, 0},
		"an owner that was deleted": {func(w *world) {
			w.happens["evict one"] = func(w *world) {
				w.makers, w.pods = nil, slices.DeleteFunc(w.pods, func(p object) bool { return manifest.Name(p) == "one" })
			}
			w.idle = true
		}, 0},
		"calls that fail once": {func(w *world) {
			broken := errors.New("connection refused")
			w.pools[0].Autoscaler.Enabled = true
			for _, call := range []string{"list", "merge", "evict", "pools"} {
				w.fails[call] = []error{nil, broken}
			}
			w.fails["change"] = []error{&api.Error{Status: 504}}
			w.fails["delete"] = []error{&api.Error{Status: 503}, &api.Error{Status: 429}}
		}, 0},
		"a node that is deleted before it is cordoned": {func(w *world) {
			w.happens["merge lke77-1-b"] = func(w *world) {
				w.nodes, w.pods = w.nodes[:1], w.pods[:1]
				w.fails["merge"] = []error{errors.New("not found")}
			}
		}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, began := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("two", "lke77-1-b", "StatefulSet")), time.Now()
				test.begin(w)
				if err := w.move().Pool(t.Context(), lkePool()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < test.least || took > test.least+time.Minute {
					t.Errorf("it took %s", took)
				}
				if w.did[len(w.did)-1] != "delete pool 1" {
					t.Errorf("it did %v", w.did)
				}
			})
		})
	}
}

// TestMoveStopsAndContinues: it stops with a reason if pods cannot be evicted or do not run elsewhere.
// The next run continues when the moved pods run.
func TestMoveStopsAndContinues(t *testing.T) {
	broken := errors.New("connection refused")
	tests := map[string]struct {
		break_, mend func(*world)
		want         string
	}{
		"a budget never allows it": {func(w *world) { w.budget = "it needs 1 pod and has 1" },
			func(w *world) { w.budget = "" }, "moving pods has stopped at node lke77-1-b:\n  a/guarded: it needs 1 pod and has 1"},
		"no room elsewhere": {func(w *world) { w.room = 0 },
			func(w *world) { w.room = time.Second },
			"moving pods has stopped at node lke77-1-a:\n  a/one fits on no other node"},
		"it does not start": {func(w *world) { w.start = time.Hour }, func(w *world) { w.start = 0 },
			"moving pods has stopped at node lke77-1-a:\n  a/one is not ready on node elsewhere"},
		"it is not recreated": {func(w *world) { w.idle = true },
			func(w *world) {
				w.make("one", []any{object{"kind": "ReplicaSet", "controller": true, "uid": "of-one"}})
				w.idle = false
			},
			"moving pods has stopped at node lke77-1-a:\n  ReplicaSet a/one does not recreate its pod"},
		"its annotation blocks eviction": {func(w *world) { annotated(w.pods[1], "karpenter.sh/do-not-disrupt", "true") },
			func(w *world) { annotated(w.pods[0], "karpenter.sh/do-not-disrupt", "false") },
			"moving pods has stopped at node lke77-1-b:\n  a/guarded: its annotation karpenter.sh/do-not-disrupt is true; " +
				"when it can be evicted, delete the pod or the annotation"},
		"its annotation for the cluster autoscaler blocks eviction": {
			func(w *world) { annotated(w.pods[1], "cluster-autoscaler.kubernetes.io/safe-to-evict", "false") },
			func(w *world) { annotated(w.pods[0], "cluster-autoscaler.kubernetes.io/safe-to-evict", "true") },
			"moving pods has stopped at node lke77-1-b:\n  a/guarded: its annotation " +
				"cluster-autoscaler.kubernetes.io/safe-to-evict is false; when it can be evicted, delete the pod or the annotation"},
		"it does not end": {func(w *world) { w.stuck = true },
			func(w *world) { w.stuck, w.pods = false, w.pods[1:]; w.makers = w.makers[1:] },
			"moving pods has stopped at node lke77-1-a:\n  a/one: does not end; it has until 2000-01-01T00:00:30Z"},
		"its node does not report": {func(w *world) {
			w.stuck = true
			manifest.Ensure(w.nodes[0], "status")["conditions"] = []any{object{"type": "Ready", "status": "Unknown"}}
		},
			func(w *world) { w.stuck, w.pods = false, w.pods[1:]; w.makers = w.makers[1:] },
			"moving pods has stopped at node lke77-1-a:\n  a/one: does not end: its node does not report; if the machine " +
				"no longer exists, delete the pod with --force"},
		"the API server does not answer": {func(w *world) { w.fails["evict"] = slices.Repeat([]error{broken}, 100) },
			func(w *world) { w.fails = nil }, "connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("guarded", "lke77-1-b", "StatefulSet"))
				test.break_(w)
				began := time.Now()
				err := w.move().Pool(t.Context(), lkePool())
				if err == nil || err.Error() != test.want {
					t.Fatalf("%v, want %s", err, test.want)
				}
				if errors.Is(err, migrate.ErrDrainStopped) == errors.Is(err, broken) {
					t.Errorf("%v: does a pod block the move?", err)
				}
				if time.Since(began) < time.Minute {
					t.Errorf("it stopped after %s", time.Since(began))
				}
				if slices.Contains(w.did, "delete pool 1") {
					t.Fatal("the LKE pool is deleted")
				}
				so := len(w.did)
				if w.move().Pool(t.Context(), lkePool()) == nil || slices.Contains(w.did[so:], "evict guarded") && w.budget == "" {
					t.Fatalf("run again, it evicts moved pods: %v", w.did)
				}
				test.mend(w)
				if err := w.move().Pool(t.Context(), lkePool()); err != nil {
					t.Fatal(err)
				}
				if w.did[len(w.did)-1] != "delete pool 1" {
					t.Errorf("it does not continue: %v", w.did)
				}
			})
		})
	}
}

// TestInterruptedMove: the next run knows which pods were moved, also from the nodes
// of another LKE pool.
func TestInterruptedMove(t *testing.T) {
	for name, pool := range map[string]int{"the same LKE pool": 1, "another one": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"), pod("far", "lke77-2-c", "ReplicaSet"))
				w.nodes = append(w.nodes, node("lke77-2-c", "2"))
				w.pools = append(w.pools, api.Pool{ID: 2, Count: 1})
				w.room = 0
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := w.move().Pool(ctx, lkePool()); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				so := len(w.did)
				err := w.move().Pool(t.Context(), api.Pool{ID: pool, Count: 1})
				if !errors.Is(err, migrate.ErrDrainStopped) || !strings.Contains(err.Error(), "a/one fits on no other node") {
					t.Errorf("it ends with %v", err)
				}
				if slices.ContainsFunc(w.did[so:], func(what string) bool { return !strings.HasPrefix(what, "cordon") }) {
					t.Errorf("it did %v", w.did[so:])
				}
				// Going back leaves the pods where they were, and starts again.
				for _, n := range w.nodes {
					delete(manifest.Ensure(n, "spec"), "unschedulable")
				}
				place(w.pods[1], "lke77-1-a")
				ready(w.pods[1])
				w.room = time.Second
				if err := w.move().Pool(t.Context(), api.Pool{ID: pool, Count: 1}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNothingIsDeletedWithPodsOnIt: an LKE pool that changes while its pods move is empty
// before it is deleted.
func TestNothingIsDeletedWithPodsOnIt(t *testing.T) {
	tests := map[string]struct {
		when string
		do   func(*world)
		want string
	}{
		"its autoscaler has created a node": {"evict one", func(w *world) {
			w.nodes = append(w.nodes, node("lke77-1-c", "1"))
			w.pods = append(w.pods, pod("late", "lke77-1-c", "Job"))
		}, "evict late"},
		"a node that LKE has not labelled yet": {"evict one", func(w *world) {
			w.nodes = append(w.nodes, node("lke77-1-c", ""))
			w.pods = append(w.pods, pod("late", "lke77-1-c", "Job"))
		}, "evict late"},
		"a node comes back without its cordon": {"evict one", func(w *world) {
			w.nodes[1] = node("lke77-1-b", "1")
			w.pods = append(w.pods, pod("late", "lke77-1-b", "Job"))
		}, "evict late"},
		"a pod was on its way when the nodes were cordoned": {"merge lke77-1-b", func(w *world) {
			late := pod("late", "", "Job")
			w.pods, w.made[manifest.UID(late)] = append(w.pods, late), time.Time{}
			w.happens["list ReplicaSet"] = func(w *world) { place(late, "lke77-1-b"); ready(late) }
		}, "evict late"},
		"a user turns its autoscaler on again": {"evict one", func(w *world) { w.pools[0].Autoscaler.Enabled = true },
			"pool 1: autoscaler false"},
		"it was already deleted": {"evict one", func(w *world) { w.pools, w.nodes = nil, nil }, "delete pool 1"},
		"a list lacks it":        {"pools", func(w *world) { w.pools = nil }, "evict one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(pod("one", "lke77-1-a", "ReplicaSet"))
				w.happens[test.when] = test.do
				if err := w.move().Pool(t.Context(), lkePool()); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(w.did, test.want) || w.did[len(w.did)-1] != "delete pool 1" {
					t.Errorf("it did %v", w.did)
				}
			})
		})
	}
}

// TestFailedDeletionIsReported if LKE still lists the LKE pool.
func TestFailedDeletionIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.keeps = true
		err := w.move().Pool(t.Context(), lkePool())
		if !errors.Is(err, migrate.ErrDrainStopped) || !strings.Contains(err.Error(), "its deletion was requested, but LKE still lists it") {
			t.Errorf("it ends with %v", err)
		}
		if slices.ContainsFunc(w.said, func(s migrate.Step) bool { return s.What == "is deleted" }) {
			t.Errorf("it reports %v", w.said)
		}
	})
}

// TestMoveStopsIfNodesAreUncordoned, after two polls even with a short timeout.
func TestMoveStopsIfNodesAreUncordoned(t *testing.T) {
	for name, test := range map[string]struct {
		uncordons bool
		want      string
	}{"somebody": {true, "its nodes do not stay cordoned"}, "nobody": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(pod("agent", "lke77-1-a", "DaemonSet"))
				var uncordon func(*world)
				uncordon = func(w *world) {
					delete(manifest.Ensure(w.nodes[0], "spec"), "unschedulable")
					w.happens["list Pod"] = uncordon
				}
				if test.uncordons {
					w.happens["list Pod"] = uncordon
				}
				m := w.move()
				m.Timeout = time.Millisecond
				err := m.Pool(t.Context(), lkePool())
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("it ends with %v, want %q", err, test.want)
				}
			})
		})
	}
}

// TestPermanentErrorStopsMove immediately.
func TestPermanentErrorStopsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := newWorld(), time.Now()
		w.fails["delete"] = slices.Repeat([]error{&api.Error{Status: 401}}, 100)
		if err := w.move().Pool(t.Context(), lkePool()); err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestMoveChecks run before anything is changed.
func TestMoveChecks(t *testing.T) {
	controller := pod("lkeplan", "lke77-1-b", "ReplicaSet")
	controller["metadata"].(object)["labels"] = object{"app.kubernetes.io/part-of": "lkeplan"}
	tied := pod("tied", "lke77-1-a", "ReplicaSet")
	manifest.Ensure(tied, "spec", "nodeSelector")["lke.linode.com/pool-id"] = "1"
	going := pod("going", "lke77-1-a", "")
	manifest.Ensure(going, "metadata")["deletionTimestamp"] = "2000-01-01T00:00:00Z"
	unready := []object{{"kind": "NodePool", "metadata": object{"name": "general"}, "status": object{"conditions": []any{
		object{"type": "Ready", "status": "False", "message": "its class does not exist"}}}}}
	tests := map[string]struct {
		pod    object
		pool   int
		takers []object
		want   string
	}{
		"nothing":                   {pod("one", "lke77-1-a", "Job"), 1, nil, ""},
		"a pod without":             {pod("by-hand", "lke77-1-a", ""), 1, nil, "pod a/by-hand on LKE pool 1 has no controller"},
		"one that is being deleted": {going, 1, nil, ""},
		"the controller":            {controller, 1, nil, "the controller, a/lkeplan, runs on LKE pool 1"},
		"another kubeconfig":        {pod("one", "lke77-1-a", "Job"), 2, nil, "this cluster has no node of LKE pool 2"},
		"a pod of this LKE pool only": {tied, 1, nil, "the pod a/tied can run only on nodes of LKE pool 1, by its " +
			"nodeSelector lke.linode.com/pool-id"},
		"no pool": {pod("one", "lke77-1-a", "Job"), 1, []object{}, "no pool of this cluster can create nodes for the pods: " +
			"there is none; apply what import --lke has written"},
		"no pool that is ready": {pod("one", "lke77-1-a", "Job"), 1, unready, "general is not ready: its class does not exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(test.pod), lkePool()
			p.ID = test.pool
			if test.takers != nil {
				w.takers = test.takers
			}
			err := w.move().Check(t.Context(), []api.Pool{p})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if len(w.did) > 0 {
				t.Errorf("it did %v", w.did)
			}
		})
	}
}
