package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
)

// Moved is a node that Karpenter removes or replaces because other capacity is cheaper or has room.
type Moved struct {
	NodeRef // its Name is that of its NodeClaim
	Kind    disrupt.Kind
	To      []NodeRef // the new nodes of the step; none if the pods fit on others
	Pods    int       // of the step
	Saves   Cost      // of the step
}

// Moves are the nodes of a cluster that Karpenter's disruption removes or replaces with the objects after a change and not
// with those before it. Disruption runs until nothing changes any more, once with each set of objects, and replaces nodes
// that differ from their pool as well; these nodes, and those beyond the replicas of a pool, are not in the result, because
// they are the direct effect of the change.
//
// Before and after are all NodePools, LinodeNodeClasses and CapacityLimits of the cluster, as the API server stores them.
// Schedules of budgets are those from now on. It assumes that nodes join, pods become ready, and nothing else changes. The
// error is that of the context if the time is up.
func Moves(ctx context.Context, in Live, now time.Time, before, after []map[string]any) ([]Moved, error) {
	was, err := disrupted(ctx, in, now, before, before)
	if err != nil {
		return nil, err
	}
	goes, err := disrupted(ctx, in, now, before, after)
	if err != nil {
		return nil, err
	}
	for name := range was {
		delete(goes, name)
	}
	var moved []Moved
	for _, m := range goes {
		switch m.Kind {
		case disrupt.Empty, disrupt.Multi, disrupt.Single:
			moved = append(moved, m)
		}
	}
	slices.SortFunc(moved, func(a, b Moved) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name)) })
	return moved, nil
}

// disrupted are the nodes that go with some objects in the place of others, by their names.
func disrupted(ctx context.Context, in Live, now time.Time, before, objects []map[string]any) (map[string]Moved, error) {
	e, err := newDisruption(in, now)
	if err != nil {
		return nil, err
	}
	existing := map[string]string{}
	for _, m := range e.made {
		existing[m.node] = m.claim.Name
	}
	if err := e.redeclare(ctx, before); err != nil { // so that pools which the change deletes are being removed
		return nil, err
	}
	e.dynamic, e.static, e.changed = nil, nil, true
	if err := e.redeclare(ctx, objects); err != nil {
		return nil, err
	}
	if err := e.scaleStatic(settings(ctx)); err != nil {
		return nil, err
	}
	if e.pending, err = e.place(ctx, e.pending); err != nil {
		return nil, err
	}
	if err := e.run(ctx, 0); err != nil {
		return nil, err
	}
	if !e.out.Ended {
		return nil, fmt.Errorf("it does not end after %s", Count(len(e.out.Steps), "step"))
	}
	gone := map[string]Moved{}
	for _, step := range e.out.Steps {
		for _, ref := range step.Gone {
			if claim := existing[ref.Name]; claim != "" {
				ref.Name = claim
				gone[claim] = Moved{NodeRef: ref, Kind: step.Kind, To: step.Made, Pods: step.Pods, Saves: step.Saved}
			}
		}
	}
	return gone, nil
}

// newDisruption is a cluster as it is once its nodes have joined and those that are being deleted are gone.
func newDisruption(in Live, now time.Time) (*consolidation, error) {
	if in.Region == "" {
		return nil, errNoRegion
	}
	linode.Register()
	w := emptyCluster(in.Catalog, in.Region, in.Tier)
	w.many = manyPods
	w.addDaemonSets(in.Daemons)
	e := &consolidation{cluster: w, now: disrupt.ClockAt(now)}
	w.clock = e.now
	for _, budget := range in.Budgets {
		w.store.Budgets = append(w.store.Budgets, budget.DeepCopy()) // what they allow is counted anew
	}
	e.forget()
	nodes := map[string]*corev1.Node{}
	for _, node := range in.Nodes {
		nodes[node.Name] = node
	}
	joined := map[string]bool{}
	for _, nc := range in.Claims {
		node := nodes[nc.Status.NodeName]
		joined[nc.Status.NodeName] = true
		if !nc.DeletionTimestamp.IsZero() || nc.Status.ProviderID == "" {
			continue // it goes, or has no machine yet
		}
		nc = nc.DeepCopy()
		if node == nil {
			node = nodeOf(nc)
		}
		e.stands(nc, node.DeepCopy())
	}
	for _, node := range in.Nodes {
		if !joined[node.Name] && node.DeletionTimestamp.IsZero() {
			w.store.Nodes[node.Name] = node.DeepCopy()
			w.attachable(node)
			w.others = append(w.others, node.Name)
		}
	}
	slices.Sort(w.others)
	e.adopt(in)
	return e, nil
}

// stands adds a node that is there.
func (e *consolidation) stands(nc *karpv1.NodeClaim, node *corev1.Node) {
	m := &simNode{claim: nc, node: node.Name}
	e.made = append(e.made, m)
	e.store.Claims = append(e.store.Claims, nc)
	e.store.Nodes[node.Name] = node
	e.attachable(node)
	if node.Labels[karpv1.NodeInitializedLabelKey] == "" { // it joins, and loses the taints that nodes join with
		node.Labels, node.Spec.Taints = nodeOf(nc).Labels, nc.Spec.Taints
		node.Status.Capacity, node.Status.Allocatable = nc.Status.Capacity, nc.Status.Allocatable
	}
	annotations := node.Annotations
	node.Status.Conditions = nil
	e.ripen(m)
	node.Annotations = annotations
}

// adopt puts the pods of a cluster on its nodes. Those of nodes that are gone wait, with those that wait already. Pods of
// DaemonSets go with their nodes.
func (e *consolidation) adopt(in Live) {
	shapes := map[string]int{}
	for _, pod := range in.Pods {
		node := e.store.Nodes[pod.Spec.NodeName]
		switch {
		case podutils.IsTerminal(pod):
			continue
		case !NeedsNode(pod) || pod.Spec.NodeName == "" && (len(pod.Spec.SchedulingGates) > 0 || podutils.IsOwnedByDaemonSet(pod)):
			if node != nil {
				e.store.Bind(withAttached(pod, in.Attached[pod.UID]), node.Name)
			}
			continue
		}
		pod = withAttached(pod, in.Attached[pod.UID]).DeepCopy()
		shape := Owner(pod) + "/" + string(ownerUID(pod))
		load, known := shapes[shape]
		if !known {
			load = len(e.workloads)
			shapes[shape] = load
			e.workloads = append(e.workloads, Workload{Name: Owner(pod), Pod: *pod})
		}
		e.of[pod.UID] = load
		e.bar(pod, "")
		e.pods = append(e.pods, pod)
		if name := pod.Spec.NodeName; node != nil {
			pod.Spec.NodeName = ""
			e.store.Bind(pod, name)
			continue
		}
		pod.Spec.NodeName = ""
		e.pending = append(e.pending, pod)
	}
	slices.SortFunc(e.pending, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
}

// ownerUID is the controller of a pod, or the pod itself.
func ownerUID(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}
