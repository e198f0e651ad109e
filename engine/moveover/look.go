package moveover

import (
	"context"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// scene is what one look at a cluster shows.
type scene struct {
	nodes  []map[string]any // of the LKE pool
	pods   []map[string]any // of the cluster
	makers []map[string]any // ReplicaSets and StatefulSets, of the cluster
	fresh  bool             // a node was cordoned just now: pods may be on their way to it
}

// look cordons the nodes of the LKE pool that are not, new ones and those that came back as
// well, and lists what moves.
func (l *leaving) look(ctx context.Context) (at scene, err error) {
	nodes, err := l.Cluster.List(ctx, "v1", "Node")
	if err != nil {
		return at, err
	}
	at.nodes = nodesOf(nodes, l.ClusterID, l.id)
	for _, node := range at.nodes {
		if cordoned(node) {
			continue
		}
		change := map[string]any{"spec": map[string]any{"unschedulable": true}}
		if err := l.Cluster.Merge(ctx, node, change, manager); err != nil {
			return at, err
		}
		at.fresh = true
		l.Report(Step{"Node", manifest.Name(node), "is cordoned"})
	}
	for _, node := range nodes {
		if cordoned(node) {
			l.moved.read(annotation(node, movedFrom))
		}
	}
	if at.pods, err = l.Cluster.List(ctx, "v1", "Pod"); err != nil {
		return at, err
	}
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		makers, err := l.Cluster.List(ctx, "apps/v1", kind)
		if err != nil {
			return at, err
		}
		at.makers = append(at.makers, makers...)
	}
	return at, nil
}

// movable are the pods of a node that go when it is drained; none of "".
func (at scene) movable(node string) []map[string]any {
	if node == "" {
		return nil
	}
	return movable(at.pods, node)
}

// occupied is a node of the LKE pool that has pods to move; "" where none has.
func (at scene) occupied() string {
	for _, node := range at.nodes {
		if name := manifest.Name(node); len(movable(at.pods, name)) > 0 {
			return name
		}
	}
	return ""
}

// endless says why a pod that goes is still there.
func (at scene) endless(pod map[string]any) string {
	for _, node := range at.nodes {
		if manifest.Name(node) == manifest.Text(pod, "spec", "nodeName") && condition(node, "Ready") == unknown {
			return "does not end, as nothing is heard of its node; if the machine is gone, delete the pod with --force"
		}
	}
	return fmt.Sprintf("does not end; it has until %s", manifest.Text(pod, "metadata", "deletionTimestamp"))
}

// nodesOf are the nodes of an LKE pool: those with its label, and of those without one, as LKE
// puts it on them a moment after they have joined, those with its name.
//
// Unverified: LKE names a Node lke<cluster>-<pool>-<hash>.
func nodesOf(nodes []map[string]any, cluster, pool int) (of []map[string]any) {
	for _, node := range nodes {
		label, named := manifest.Label(node, poolLabel), fmt.Sprintf("lke%d-%d-", cluster, pool)
		if label == fmt.Sprint(pool) || label == "" && strings.HasPrefix(manifest.Name(node), named) {
			of = append(of, node)
		}
	}
	return of
}

// poolLabel is LKE's own, on each of its nodes.
const poolLabel = "lke.linode.com/pool-id"

func cordoned(node map[string]any) bool {
	cordoned, _ := manifest.Lookup(node, "spec", "unschedulable")
	return cordoned == true
}
