package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Node is a node, or a NodeClaim whose node has not joined.
type Node struct {
	Name    string            `json:"name"`
	Claim   string            `json:"nodeclaim,omitempty"`
	Pool    string            `json:"pool"` // "" if it belongs to none
	Plan    string            `json:"plan"`
	State   cluster.NodeState `json:"state"`
	Created time.Time         `json:"created"`
	CPU     Use               `json:"cpu"`
	Memory  Use               `json:"memory"`
	Cost    *catalog.Price    `json:"cost"` // nil if it is unknown
}

// Use has the requests of pods and the allocatable amount of nodes.
type Use struct {
	Requested   resource.Quantity `json:"requested"`
	Allocatable resource.Quantity `json:"allocatable"`
}

// add adds the use of another node.
func (u *Use) add(other Use) {
	u.Requested.Add(other.Requested)
	u.Allocatable.Add(other.Allocatable)
}

// nodes returns the nodes and the NodeClaims without a node, by pool and name.
func (w *reader) nodes() []Node {
	requested := map[string]corev1.ResourceList{}
	for _, pod := range w.Pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.Spec.NodeName != "" {
			on := pod.Spec.NodeName
			requested[on] = resources.MergeInto(requested[on], resources.RequestsForSpec(&pod.Spec))
		}
	}
	use := func(allocatable corev1.ResourceList, node string, name corev1.ResourceName) Use {
		return Use{Requested: requested[node][name], Allocatable: allocatable[name]}
	}
	claims, without := claimsOf(w.Snapshot.Nodes, w.Claims)
	all := []Node{}
	add := func(node *corev1.Node, nc *karpv1.NodeClaim) {
		var n Node
		var obj metav1.Object = nc
		if node != nil {
			obj = node
		}
		labels := obj.GetLabels()
		n.Name, n.Created = obj.GetName(), obj.GetCreationTimestamp().UTC()
		n.Pool, n.Plan = labels[karpv1.NodePoolLabelKey], labels[corev1.LabelInstanceTypeStable]
		var allocatable corev1.ResourceList
		if nc != nil {
			n.Claim, allocatable = nc.Name, nc.Status.Allocatable
			n.Pool = cmp.Or(n.Pool, nc.Labels[karpv1.NodePoolLabelKey])
			n.Plan = cmp.Or(n.Plan, nc.Labels[corev1.LabelInstanceTypeStable])
		}
		n.State = cluster.StateOf(nc, node, w.rolls.outdated[n.Claim], w.rolls.held[n.Claim])
		on := ""
		if node != nil {
			on, allocatable = node.Name, node.Status.Allocatable
		}
		n.CPU, n.Memory = use(allocatable, on, corev1.ResourceCPU), use(allocatable, on, corev1.ResourceMemory)
		if price, known := w.Catalog.Price(n.Plan, labels[corev1.LabelTopologyRegion]); known {
			n.Cost = &catalog.Price{Hourly: price.Hourly, Monthly: price.PerMonth()} // some have no monthly price
		}
		all = append(all, n)
	}
	for _, node := range w.Snapshot.Nodes {
		add(node, claims[node.Name])
	}
	for _, nc := range without {
		add(nil, nc)
	}
	slices.SortFunc(all, func(a, b Node) int {
		return cmp.Or(falseFirst(a.Pool == "", b.Pool == ""), strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
	})
	return all
}

// payers returns the nodes whose price is known, with the pods among which their cost is split.
func (w *reader) payers(nodes []Node) (list []costs.Node) {
	pods := map[string][]costs.Pod{}
	for _, pod := range w.Pods {
		if !podutils.IsTerminal(pod) && !podutils.IsOwnedByDaemonSet(pod) && !podutils.IsOwnedByNode(pod) {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName],
				costs.Pod{Share: w.CostBy.Of(pod), Requests: resources.RequestsForSpec(&pod.Spec)})
		}
	}
	allocatable := map[string]corev1.ResourceList{}
	for _, node := range w.Snapshot.Nodes {
		allocatable[node.Name] = node.Status.Allocatable
	}
	for _, n := range nodes {
		if n.Cost != nil {
			list = append(list, costs.Node{Monthly: n.Cost.Monthly, Allocatable: allocatable[n.Name], Pods: pods[n.Name]})
		}
	}
	return list
}

// coming reports whether a node has not joined yet.
func (n Node) coming() bool { return n.Name == n.Claim && n.State != cluster.NodeDraining }

// totals are the sums of some nodes.
type totals struct {
	nodes, coming, unpriced int
	cost                    catalog.Price // without the unpriced
	states                  map[cluster.NodeState]int
	cpu, memory             Use
}

func totalsOf(nodes []Node) totals {
	t := totals{states: map[cluster.NodeState]int{}}
	for _, n := range nodes {
		t.nodes++
		t.states[n.State]++
		if n.coming() {
			t.coming++
		}
		if n.Cost == nil {
			t.unpriced++
		} else {
			t.cost.Hourly += n.Cost.Hourly
			t.cost.Monthly += n.Cost.Monthly
		}
		t.cpu.add(n.CPU)
		t.memory.add(n.Memory)
	}
	return t
}

// monthly returns the cell with the monthly cost.
func (t totals) monthly() string {
	switch t.unpriced {
	case 0:
		return t.cost.Monthly.Text()
	case t.nodes:
		return "?"
	}
	return t.cost.Monthly.Text() + "+?"
}

// byPool returns the nodes of each pool.
func byPool(nodes []Node) map[string][]Node {
	of := map[string][]Node{}
	for _, n := range nodes {
		of[n.Pool] = append(of[n.Pool], n)
	}
	return of
}

// claimsOf finds the NodeClaim of each node, by the node's name, and the NodeClaims without a node.
//
// Before Karpenter writes the name of a joining node on its NodeClaim, the provider id identifies it. If LKE does
// not list its machine yet, which takes minutes on Enterprise, no NodeClaim has that id: then it counts as the node
// of an older NodeClaim of the same pool and plan that waits for a machine, because it would count twice otherwise.
// The same applies to a node without an id from the cloud controller.
func claimsOf(nodes []*corev1.Node, claims []*karpv1.NodeClaim) (
	of map[string]*karpv1.NodeClaim, without []*karpv1.NodeClaim,
) {
	of = map[string]*karpv1.NodeClaim{}
	byID := map[string][]string{} // names of nodes: kubelets can write the same id
	for _, n := range nodes {
		of[n.Name] = nil
		if n.Spec.ProviderID != "" {
			byID[n.Spec.ProviderID] = append(byID[n.Spec.ProviderID], n.Name)
		}
	}
	var unnamed []*karpv1.NodeClaim
	for _, nc := range claims {
		if first, there := of[nc.Status.NodeName]; there && first == nil {
			of[nc.Status.NodeName] = nc
		} else {
			unnamed = append(unnamed, nc)
		}
	}
	for _, nc := range unnamed {
		same := byID[nc.Status.ProviderID]
		if at := slices.IndexFunc(same, func(name string) bool { return of[name] == nil }); at >= 0 {
			of[same[at]] = nc
		} else {
			without = append(without, nc)
		}
	}
	slices.SortFunc(without, func(a, b *karpv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, n := range nodes {
		pool, plan := n.Labels[karpv1.NodePoolLabelKey], n.Labels[corev1.LabelInstanceTypeStable]
		if of[n.Name] != nil || pool == "" {
			continue
		}
		at := slices.IndexFunc(without, func(nc *karpv1.NodeClaim) bool {
			waits := nc.DeletionTimestamp.IsZero() && nc.Status.NodeName == "" &&
				(cluster.ProgressOf(nc, nil) == cluster.NodeRequested || n.Spec.ProviderID == "")
			own := nc.Labels[corev1.LabelInstanceTypeStable]
			return waits && nc.Labels[karpv1.NodePoolLabelKey] == pool && (own == plan || plan == "" && n.Spec.ProviderID == "") &&
				!n.CreationTimestamp.Time.Before(nc.CreationTimestamp.Time)
		})
		if at >= 0 {
			of[n.Name], without = without[at], slices.Delete(without, at, at+1)
		}
	}
	return of, without
}

// claimCondition returns a condition of a NodeClaim; nil if it does not have it.
func claimCondition(nc *karpv1.NodeClaim, kind string) *status.Condition {
	return nc.StatusConditions(status.WithObservedOnly()).Get(kind)
}

// falseFirst puts false before true.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
