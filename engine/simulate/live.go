package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Live is an existing cluster. The simulation does not change it.
type Live struct {
	clusters.Snapshot // includes all pods: bound ones use room, the others are pending

	Region  string
	Tier    catalog.Tier // "" means standard
	Catalog *catalog.Catalog
	// Templates are the objects to which CapacityBuffers refer.
	Templates []Template
	Attached  map[types.UID][]string // by pod, the names of the Linode volumes that its node attaches

	ready bool // PodDisruptionBudgets count pods without a node as ready
}

// Placement is where Karpenter would place a pending pod now, or why it cannot.
type Placement struct {
	Node    string   `json:"node,omitempty"` // an existing node or NodeClaim with room
	Pool    string   `json:"pool,omitempty"` // the pool of a node that would be created
	Plan    string   `json:"plan,omitempty"` // the plan type of that node
	New     string   `json:"-"`              // a name for that node, equal for all pods that would share it
	Reasons []Reason `json:"reasons,omitempty"`
}

// Place returns where the pending pods would go, by UID. It leaves out pods of DaemonSets, and pods with a
// scheduling gate.
func Place(ctx context.Context, in Live) (map[types.UID]Placement, error) {
	if in.Region == "" {
		return nil, fmt.Errorf("the region of the cluster is unknown: no node has the label %s",
			corev1.LabelTopologyRegion)
	}
	instancetype.Register()
	w, unready := newLive(in)
	pending := waitingPods(in.Pods, in.Attached)
	if len(pending) > MaxPods {
		return nil, fmt.Errorf("%d pods are pending, more than the %d that can be simulated", len(pending), MaxPods)
	}
	for i, pod := range pending {
		w.workloadOf[pod.UID] = i
		w.refusePod(pod, "")
	}
	w.pods, w.packFrom = pending, manyPods
	tally, err := w.chooser.Limits.Show(ctx)
	if err != nil {
		return nil, err
	}
	standing := len(w.made)
	if _, err := w.place(ctx, pending); err != nil {
		return nil, err
	}
	e, err := w.explainer(ctx)
	if err != nil {
		return nil, err
	}
	fresh := map[string]*simNode{}
	for _, m := range w.made[standing:] {
		fresh[m.node] = m
	}
	e.planned = limits.Planned{Standing: &tally, For: func(covers func(string) bool) string {
		return ownersOf(slices.DeleteFunc(slices.Clone(pending), func(pod *corev1.Pod) bool {
			return fresh[pod.Spec.NodeName] == nil || !covers(fresh[pod.Spec.NodeName].pool())
		}))
	}}
	return w.placements(ctx, e, pending, fresh, unready), nil
}

// newLive returns a copy of an existing cluster in memory, and the pools that are not used, with the reasons.
func newLive(in Live) (*cluster, []refusing) {
	w := emptyCluster(in.Catalog, in.Region, in.Tier)
	said := map[string]*linodev1alpha1.LinodeNodeClass{}
	for _, class := range in.Classes {
		said[class.Name] = class
		w.store.Classes[class.Name] = class.DeepCopy()
		w.admitClass(w.store.Classes[class.Name]) // the condition of its pools decides whether it is ready
	}
	for _, limit := range in.Limits {
		w.store.Limits[limit.Name] = limit
	}
	for _, node := range in.Nodes {
		w.store.Nodes[node.Name] = node.DeepCopy() // Karpenter adds a provider id to some
		w.attachable(node)
	}
	for _, pod := range in.Pods {
		if pod.Spec.NodeName != "" && !podutils.IsTerminal(pod) {
			w.store.Bind(withAttached(pod, in.Attached[pod.UID]), pod.Spec.NodeName)
		}
	}
	joined := map[string]bool{}
	for _, nc := range in.Claims {
		w.store.Claims = append(w.store.Claims, nc)
		joined[nc.Status.NodeName] = true
		if nc.Status.ProviderID != "" {
			w.made = append(w.made, &simNode{claim: nc.DeepCopy(), node: nc.Status.NodeName})
		}
	}
	for name := range w.store.Nodes {
		if !joined[name] {
			w.unclaimed = append(w.unclaimed, name)
		}
	}
	slices.Sort(w.unclaimed)
	w.addDaemonSets(in.Daemons)
	return w, w.admitLive(in.Pools, said)
}

// admitLive finds the usable pools, and returns the others with the reasons. said has the classes as they were
// listed.
func (w *cluster) admitLive(
	pools []*karpv1.NodePool, said map[string]*linodev1alpha1.LinodeNodeClass,
) (unready []refusing) {
	for _, pool := range pools {
		pool = pool.DeepCopy()
		linode.Narrow(pool, w.types.Region())
		w.store.Pools[pool.Name] = pool
		for _, plan := range linode.OutOfStock(pool) {
			w.types.Block(plan, time.Now().Add(time.Hour)) // longer than the simulation takes
		}
		var class *linodev1alpha1.LinodeNodeClass
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
			class = said[ref.Name]
		}
		switch why := notPlannedWith(pool, class); {
		case why != "":
			unready = append(unready, refusing{pool, why})
		default:
			w.dynamic = append(w.dynamic, pool)
			w.standIn(pool.Spec.Template.Spec.NodeClassRef.Name)
		}
	}
	nodepool.OrderByWeight(w.dynamic)
	return unready
}

// standIn adds a class that was not listed, if a pool reports that its class is ready.
func (w *cluster) standIn(class string) {
	if w.store.Classes[class] == nil {
		w.store.Classes[class] = w.mode.StandIn(class)
		w.admitClass(w.store.Classes[class])
	}
}

// refusing is a pool that creates no nodes, with the reason.
type refusing struct {
	pool *karpv1.NodePool
	why  string
}

// notPlannedWith returns why a pool creates no nodes for pods; "" if it does.
func notPlannedWith(pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	switch ref := pool.Spec.Template.Spec.NodeClassRef; {
	case ref == nil || ref.Group != linodev1alpha1.Group:
		return "its nodes are not Linode's."
	case !pool.DeletionTimestamp.IsZero():
		return "it is being deleted."
	case pool.Spec.Replicas != nil:
		return "it has a fixed number of nodes."
	case pool.StatusConditions(status.WithObservedOnly()).Get(status.ConditionReady).IsTrue():
		return ""
	}
	if text := linode.NotReady(pool, class); text != "" {
		return "it is not ready: " + strings.TrimSuffix(text, ".") + "."
	}
	return "the controller has not checked it yet; check that the controller is running."
}

// placements returns where the pods are. fresh are the new nodes.
func (w *cluster) placements(
	ctx context.Context, e *explainer, pending []*corev1.Pod, fresh map[string]*simNode, unready []refusing,
) map[types.UID]Placement {
	placed := make(map[types.UID]Placement, len(pending))
	for _, pod := range pending {
		switch m := fresh[pod.Spec.NodeName]; {
		case m != nil:
			placed[pod.UID] = Placement{Pool: m.pool(), Plan: m.plan(), New: m.node}
		case pod.Spec.NodeName != "":
			placed[pod.UID] = Placement{Node: pod.Spec.NodeName}
		default:
			reasons := unreadyPools(pod, unready)
			if len(w.dynamic) > 0 || len(reasons) == 0 {
				reasons = append(e.reasons(ctx, pod), reasons...)
			}
			placed[pod.UID] = Placement{Reasons: reasons}
		}
	}
	return placed
}

// unreadyPools returns the pools that match a pod and create no nodes, with the reasons.
func unreadyPools(pod *corev1.Pod, unready []refusing) (reasons []Reason) {
	for _, r := range unready {
		if _, ok := instancetype.ForPod(r.pool, pod); ok {
			reasons = append(reasons, Reason{Pool: r.pool.Name, Text: r.why})
		}
	}
	return reasons
}
