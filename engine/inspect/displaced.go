package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// Displaced is what happens to the pods of nodes that are removed together with all pools.
type Displaced struct {
	Pods         int      // that have to move, without those of DaemonSets
	NoNode       []Group  // pods that fit on none of the remaining nodes
	NotRecreated []Group  // pods without a controller, which are deleted for good
	Unknown      []string // why the answer is incomplete, each a clause; empty if it is complete
}

// Group is a number of pods with the same owner.
type Group struct {
	Owner string // kind, namespace and name
	Pods  int
}

// DisplacedKinds are the kinds that Displace reads.
func DisplacedKinds() []string {
	return append([]string{cluster.KindNodes, cluster.KindPods, cluster.KindDaemonSets, cluster.KindNamespaces}, kindsOfVolumes...)
}

// Displace reports what happens to pods if nodes and all pools are removed. Only the catalog and the region of g are used.
func Displace(ctx context.Context, l cluster.Snapshot, g Given, nodes []*corev1.Node) (d Displaced) {
	if unread := l.Unread(cluster.KindNodes, cluster.KindPods); unread != "" {
		d.Unknown = append(d.Unknown, unread)
		return d
	}
	region, _ := l.Region()
	g.Region = cmp.Or(g.Region, region)
	removed := map[string]bool{}
	for _, node := range nodes {
		removed[node.Name] = true
	}
	rest, moving := remainder(l, removed)
	var recreated []*corev1.Pod
	for _, pod := range moving {
		d.Pods++
		if metav1.GetControllerOf(pod) == nil {
			d.NotRecreated = addPod(d.NotRecreated, pod)
		} else {
			recreated = append(recreated, pod)
		}
	}
	if len(recreated) == 0 {
		return d
	}
	if len(rest.Nodes) == 0 {
		for _, pod := range recreated {
			d.NoNode = addPod(d.NoNode, pod)
		}
		return d
	}
	rest.Pods = append(rest.Pods, recreated...)
	w := newReader(rest, g)
	placed, err := simulate.Place(ctx, w.live(ctx, nil))
	if err != nil {
		d.Unknown = append(d.Unknown, err.Error())
		return d
	}
	volumes := l.Unread(kindsOfVolumes...)
	unplanned := 0
	for _, pod := range recreated {
		placement, planned := placed[pod.UID]
		switch {
		case !planned || volumes != "" && simulate.ClaimsVolumes(pod):
			unplanned++
		case placement.Node == "":
			d.NoNode = addPod(d.NoNode, pod)
		}
	}
	if unplanned > 0 {
		d.Unknown = append(d.Unknown, diag.Counted(unplanned, "pod")+" with volumes or scheduling gates cannot be simulated")
	}
	return d
}

// remainder is a cluster without some nodes and without pools, and the pods that have to move from these nodes, as they
// are recreated: without a node.
func remainder(l cluster.Snapshot, removed map[string]bool) (rest cluster.Snapshot, moving []*corev1.Pod) {
	rest = cluster.Snapshot{Daemons: l.Daemons, Namespaces: l.Namespaces, Volumes: l.Volumes, Unlisted: l.Unlisted}
	for _, node := range l.Nodes {
		if !removed[node.Name] {
			rest.Nodes = append(rest.Nodes, node)
			continue
		}
		for _, pod := range cluster.PodsToMove(l.Pods, node.Name) {
			if pod.DeletionTimestamp.IsZero() {
				pod = pod.DeepCopy()
				pod.Spec.NodeName = ""
				moving = append(moving, pod)
			}
		}
	}
	rest.Pods = slices.DeleteFunc(slices.Clone(l.Pods), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" || removed[pod.Spec.NodeName]
	})
	return rest.Sorted(), moving
}

// addPod adds a pod to the group of its owner. Groups are sorted.
func addPod(groups []Group, pod *corev1.Pod) []Group {
	owner := simulate.Owner(pod)
	at, found := slices.BinarySearchFunc(groups, owner, func(g Group, owner string) int { return strings.Compare(g.Owner, owner) })
	if !found {
		groups = slices.Insert(groups, at, Group{Owner: owner})
	}
	groups[at].Pods++
	return groups
}
