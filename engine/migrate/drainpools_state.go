package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/cluster"
)

// drainState is the state of a cluster at one poll.
type drainState struct {
	nodes  []*corev1.Node // of the LKE pool
	pods   []*corev1.Pod  // of the cluster
	makers []maker        // ReplicaSets and StatefulSets, of the cluster
	fresh  bool           // a node was just cordoned: pods may be on their way to it
}

// maker is a ReplicaSet or a StatefulSet.
type maker struct {
	uid   string
	name  string // with its kind and namespace
	wants int    // pods
	says  string // why it creates none, for the end of a sentence
}

func makerFrom(kind string, meta metav1.ObjectMeta, replicas *int32, message string) maker {
	m := maker{uid: string(meta.UID), name: kind + " " + keyOf(&meta), wants: int(ptr.Deref(replicas, 0)), says: colon(message)}
	if !meta.DeletionTimestamp.IsZero() {
		m.wants = 0
	}
	return m
}

// look cordons the nodes of the LKE pool, also new and returned ones, and lists what
// moves.
func (l *drainRun) look(ctx context.Context) (at drainState, err error) {
	nodes, err := cluster.List[corev1.Node](ctx, l.Cluster, "v1", "Node")
	if err != nil {
		return at, err
	}
	at.nodes = nodesOf(nodes, l.ClusterID, l.id)
	for _, node := range at.nodes {
		if node.Spec.Unschedulable {
			continue
		}
		change := map[string]any{"spec": map[string]any{"unschedulable": true}}
		if err := l.Cluster.Merge(ctx, reference(node), change, drainer); err != nil {
			return at, err
		}
		node.Spec.Unschedulable, at.fresh = true, true
		l.Report(Step{"Node", node.Name, "is cordoned"})
	}
	for _, node := range nodes {
		if node.Spec.Unschedulable {
			l.moved.read(node.Annotations[movedFrom])
		}
	}
	if at.pods, err = cluster.List[corev1.Pod](ctx, l.Cluster, "v1", "Pod"); err != nil {
		return at, err
	}
	replicaSets, err := cluster.List[appsv1.ReplicaSet](ctx, l.Cluster, "apps/v1", "ReplicaSet")
	if err != nil {
		return at, err
	}
	for _, set := range replicaSets {
		message := ""
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				message = c.Message
			}
		}
		at.makers = append(at.makers, makerFrom("ReplicaSet", set.ObjectMeta, set.Spec.Replicas, message))
	}
	statefulSets, err := cluster.List[appsv1.StatefulSet](ctx, l.Cluster, "apps/v1", "StatefulSet")
	for _, set := range statefulSets {
		at.makers = append(at.makers, makerFrom("StatefulSet", set.ObjectMeta, set.Spec.Replicas, ""))
	}
	return at, err
}

// occupied is a node of the LKE pool that has pods to move; "" if none has.
func (at drainState) occupied() string {
	for _, node := range at.nodes {
		if len(cluster.PodsToMove(at.pods, node.Name)) > 0 {
			return node.Name
		}
	}
	return ""
}

// node is the node of a name; nil if the LKE pool has none.
func (at drainState) node(name string) *corev1.Node {
	for _, node := range at.nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// endless explains why a pod that is being deleted still exists.
func (at drainState) endless(pod *corev1.Pod) string {
	if node := at.node(pod.Spec.NodeName); node != nil &&
		nodeutils.GetCondition(node, corev1.NodeReady).Status == corev1.ConditionUnknown {
		return "does not end: its node does not report; if the machine no longer exists, delete the pod with --force"
	}
	return "does not end; it has until " + pod.DeletionTimestamp.UTC().Format(time.RFC3339)
}

// nodesOf are the nodes of an LKE pool: those with its label, and of those without one, because LKE
// adds it shortly after they have joined, those with its name.
//
// Unverified: LKE names a Node lke<cluster>-<pool>-<hash>.
func nodesOf(nodes []*corev1.Node, cluster, pool int) (of []*corev1.Node) {
	for _, node := range nodes {
		label, named := node.Labels[poolLabel], fmt.Sprintf("lke%d-%d-", cluster, pool)
		if label == fmt.Sprint(pool) || label == "" && strings.HasPrefix(node.Name, named) {
			of = append(of, node)
		}
	}
	return of
}

// poolLabel is the label of LKE on each of its nodes.
const poolLabel = "lke.linode.com/pool-id"

// ledger has the owners of the moved pods, by their UIDs, with how many of its
// pods each lacked before its first pod was moved. More missing pods are those that the
// move evicted. Pods of other owners are pending for other reasons.
type ledger map[string]int

// movedFrom is the annotation of a cordoned Node with a ledger, for the next run of a move
// that has stopped: UID=NUMBER, with spaces in between.
const movedFrom = "lkeplan.dev/moved-from"

// read reads an annotation.
func (l ledger) read(entries string) {
	for entry := range strings.FieldsSeq(entries) {
		uid, number, _ := strings.Cut(entry, "=")
		if lacked, err := strconv.Atoi(number); err == nil {
			l.enter(uid, lacked)
		}
	}
}

func (l ledger) enter(uid string, lacked int) {
	if known, found := l[uid]; !found || lacked < known {
		l[uid] = lacked
	}
}

// note adds the owners of pods that will be evicted to the ledger and to their node.
func (l *drainRun) note(ctx context.Context, at drainState, name string, pods []*corev1.Pod) error {
	lacking, entries := at.lacking(), map[string]string{}
	for _, pod := range pods {
		if uid := makerOf(pod); uid != "" {
			l.moved.enter(uid, len(lacking[uid]))
			entries[uid] = fmt.Sprintf("%s=%d", uid, l.moved[uid])
		}
	}
	node := at.node(name)
	if node == nil {
		return nil
	}
	known := ledger{}
	known.read(node.Annotations[movedFrom])
	for uid, lacked := range known {
		if _, found := entries[uid]; !found {
			entries[uid] = fmt.Sprintf("%s=%d", uid, lacked)
		}
	}
	if len(known) == len(entries) {
		return nil
	}
	text := strings.Join(slices.Sorted(maps.Values(entries)), " ")
	change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{movedFrom: text}}}
	return l.Cluster.Merge(ctx, reference(node), change, drainer)
}

// missing explains what the owners lack that they did not lack before.
func (l ledger) missing(at drainState) (why []string) {
	lacking := at.lacking()
	for _, uid := range slices.Sorted(maps.Keys(l)) {
		now := lacking[uid]
		l.enter(uid, len(now))
		why = append(why, now[:len(now)-l[uid]]...)
	}
	return why
}

// lacking is what each owner lacks, by its UID: pods that do not run, newest first, and
// those that are not created.
func (at drainState) lacking() map[string][]string {
	lacking, made := map[string][]string{}, map[string]int{}
	newest := slices.SortedStableFunc(slices.Values(at.pods), func(a, b *corev1.Pod) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, pod := range newest {
		uid := makerOf(pod)
		if uid == "" || podutils.IsTerminal(pod) {
			continue
		}
		made[uid]++ // also one that is being deleted: a StatefulSet waits for that
		if why := idle(pod); why != "" && pod.DeletionTimestamp.IsZero() {
			lacking[uid] = append(lacking[uid], keyOf(pod)+" "+why)
		}
	}
	for _, m := range at.makers {
		for range m.wants - made[m.uid] {
			lacking[m.uid] = append(lacking[m.uid], m.name+" does not recreate its pod"+m.says)
		}
	}
	return lacking
}

// makerOf is the UID of the owner that recreates a pod; "" if there is none.
func makerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// idle is why a pod does not run; "" if it does.
func idle(pod *corev1.Pod) string {
	node := pod.Spec.NodeName
	if node == "" {
		return "fits on no other node" + colon(podCondition(pod, corev1.PodScheduled).Message)
	}
	if ready := podCondition(pod, corev1.PodReady); ready.Status != corev1.ConditionTrue {
		return "is not ready on node " + node + colon(ready.Message)
	}
	return ""
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
