package migrate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

type object = map[string]any

// world is a cluster of two nodes in LKE pool 1. Evicted pods are recreated, get
// a node elsewhere after a while, and are ready some time after that.
type world struct {
	nodes, pods, makers, takers []object
	pools                       []api.Pool
	did                         []string
	said                        []migrate.Step

	budget  string        // while it is set, the pod "guarded" cannot be evicted
	lifted  time.Time     // when it ends; never if it is zero
	room    time.Duration // until a node elsewhere takes a pod; 0: never
	start   time.Duration // from there until it is ready
	idle    bool          // pods are not recreated
	stuck   bool          // pods that are evicted do not end
	keeps   bool          // LKE accepts the deletion of an LKE pool, and does not delete it
	serial  int
	fails   map[string][]error      // what calls answer, the next first
	happens map[string]func(*world) // once, before a call that begins so
	made    map[string]time.Time    // by UID
}

func newWorld(pods ...object) *world {
	w := &world{room: 5 * time.Second, made: map[string]time.Time{}, fails: map[string][]error{},
		happens: map[string]func(*world){}, pods: pods, pools: []api.Pool{lkePool()}}
	for _, name := range []string{"lke77-1-a", "lke77-1-b"} {
		w.nodes = append(w.nodes, node(name, "1"))
	}
	w.takers = []object{{"kind": "NodePool", "metadata": object{"name": "general"}}}
	for _, p := range pods {
		owner := manifest.Map(p, "metadata")["ownerReferences"]
		if owner == nil {
			continue
		}
		if o := owner.([]any)[0].(object); o["kind"] == "ReplicaSet" || o["kind"] == "StatefulSet" {
			w.makers = append(w.makers, object{"kind": o["kind"], "spec": object{"replicas": int64(1)},
				"metadata": object{"name": manifest.Name(p), "namespace": "a", "uid": o["uid"]}})
		}
	}
	return w
}

func node(name, pool string) object {
	return object{"kind": "Node", "metadata": object{"name": name, "labels": object{"lke.linode.com/pool-id": pool}}}
}

// pod is a pod, which runs if it has a node.
func pod(name, node, owner string) object {
	p := object{"kind": "Pod", "metadata": object{"name": name, "namespace": "a", "uid": name + "-0"}, "spec": object{}}
	if node != "" {
		place(p, node)
		ready(p)
	}
	if owner != "" {
		p["metadata"].(object)["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": owner, "controller": true, "uid": "of-" + name}}
	}
	return p
}

func place(p object, node string) { manifest.Ensure(p, "spec")["nodeName"] = node }

func ready(p object) {
	manifest.Ensure(p, "status")["conditions"] = []any{object{"type": "Ready", "status": "True"}}
}

func annotated(p object, key, value string) object {
	manifest.Ensure(p, "metadata", "annotations")[key] = value
	return p
}

// call is the start of each call.
func (w *world) call(what string) error {
	for prefix, do := range w.happens {
		if strings.HasPrefix(what, prefix) {
			delete(w.happens, prefix)
			do(w)
		}
	}
	name, _, _ := strings.Cut(what, " ")
	if queue := w.fails[name]; len(queue) > 0 {
		w.fails[name] = queue[1:]
		return queue[0]
	}
	return nil
}

func (w *world) List(_ context.Context, _, kind string) ([]object, error) {
	if err := w.call("list " + kind); err != nil {
		return nil, err
	}
	switch kind {
	case "Node":
		return slices.Clone(w.nodes), nil
	case "NodePool":
		return w.takers, nil
	case "Pod":
		w.pass()
		return slices.Clone(w.pods), nil
	}
	return slices.DeleteFunc(slices.Clone(w.makers), func(o object) bool { return manifest.Kind(o) != kind }), nil
}

// pass lets time pass.
func (w *world) pass() {
	for _, p := range w.pods {
		age := time.Since(w.made[manifest.UID(p)])
		if w.made[manifest.UID(p)].IsZero() || w.room == 0 || age < w.room {
			continue
		}
		place(p, "elsewhere")
		if age >= w.room+w.start {
			ready(p)
		}
	}
}

func (w *world) Merge(_ context.Context, obj, change object, _ string) error {
	if err := w.call("merge " + manifest.Name(obj)); err != nil {
		return err
	}
	obj = find(w.nodes, obj)
	before := manifest.Map(obj, "spec")["unschedulable"]
	merge(obj, change)
	if before != manifest.Map(obj, "spec")["unschedulable"] {
		w.did = append(w.did, "cordon "+manifest.Name(obj))
	}
	return nil
}

// find is the referenced object.
func find(in []object, like object) object {
	at := slices.IndexFunc(in, func(o object) bool { return manifest.KeyOf(o) == manifest.KeyOf(like) })
	if at < 0 {
		return object{}
	}
	return in[at]
}

func merge(into, change object) {
	for key, value := range change {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case object:
			merge(manifest.Ensure(into, key), value)
		default:
			into[key] = value
		}
	}
}

func (w *world) Evict(_ context.Context, pod object) (string, error) {
	name := manifest.Name(pod)
	if err := w.call("evict " + name); err != nil {
		return "", err
	}
	if w.budget != "" && (w.lifted.IsZero() || time.Now().Before(w.lifted)) && strings.HasPrefix(name, "guarded") {
		return w.budget, nil
	}
	w.did = append(w.did, "evict "+name)
	at := slices.IndexFunc(w.pods, func(p object) bool { return manifest.UID(p) == manifest.UID(pod) })
	if at < 0 {
		return "", nil
	}
	pod = w.pods[at]
	if w.stuck {
		manifest.Ensure(pod, "metadata")["deletionTimestamp"] = "2000-01-01T00:00:30Z"
		return "", nil
	}
	w.pods = slices.DeleteFunc(w.pods, func(p object) bool { return manifest.UID(p) == manifest.UID(pod) })
	if owners := manifest.Map(pod, "metadata")["ownerReferences"]; owners != nil && !w.idle {
		w.make(name, owners)
	}
	return "", nil
}

func (w *world) make(name string, owners any) {
	w.serial++
	again := object{"kind": "Pod", "spec": object{}, "metadata": object{
		"name": name, "namespace": "a", "uid": fmt.Sprint(name, "-", w.serial), "ownerReferences": owners,
		"creationTimestamp": time.Now().UTC().Format(time.RFC3339),
	}}
	w.pods, w.made[manifest.UID(again)] = append(w.pods, again), time.Now()
}

func (w *world) Pools(context.Context, int) ([]api.Pool, error) {
	return slices.Clone(w.pools), w.call("pools")
}

func (w *world) ChangePool(_ context.Context, _, pool int, change api.PoolChange) error {
	if err := w.call("change"); err != nil {
		return err
	}
	w.did = append(w.did, fmt.Sprintf("pool %d: autoscaler %v", pool, change.Autoscaler.Enabled))
	for n := range w.pools {
		if w.pools[n].ID == pool {
			w.pools[n].Autoscaler = *change.Autoscaler
		}
	}
	return nil
}

func (w *world) DeletePool(_ context.Context, _, pool int) error {
	if err := w.call("delete"); err != nil {
		return err
	}
	w.did = append(w.did, fmt.Sprintf("delete pool %d", pool))
	if !w.keeps {
		w.pools = slices.DeleteFunc(w.pools, func(p api.Pool) bool { return p.ID == pool })
	}
	return nil
}

func (w *world) move() migrate.PoolDrain {
	return migrate.PoolDrain{Cluster: w, LKE: w, ClusterID: 77, Timeout: time.Minute, Report: func(s migrate.Step) {
		w.said = append(w.said, s)
	}}
}

func lkePool() api.Pool { return api.Pool{ID: 1, Count: 2} }
