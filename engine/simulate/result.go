package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// Result is where pods are, on which nodes, and why some have none.
type Result struct {
	Asked   int `json:"asked"`
	Placed  int `json:"placed"`
	Refused int `json:"refused"`

	Plans      []Plan      `json:"plans"` // by pool and plan type
	Total      Cost        `json:"total"`
	Refusals   []Refusal   `json:"refusals"`
	Shortfalls []Shortfall `json:"shortfalls"`
	Nodes      []Node      `json:"nodes"` // in the order in which they were made
	Notes      []string    `json:"notes"` // what was not simulated

	// Claims are the NodeClaims behind the nodes, in their order, as far as changes to pools
	// have to do with them.
	Claims []*karpv1.NodeClaim `json:"-"`

	Consolidated *Consolidated `json:"settled,omitempty"` // what Karpenter makes of it afterwards
}

// Use is how much pods ask for, those of DaemonSets too, of what a node has for pods:
// thousandths of a CPU, bytes of memory.
type Use struct {
	Requested   int64 `json:"requested"`
	Allocatable int64 `json:"allocatable"`
}

func (u *Use) add(other Use) {
	u.Requested += other.Requested
	u.Allocatable += other.Allocatable
}

// Percent is the share that is asked for.
func (u Use) Percent() int {
	if u.Allocatable == 0 {
		return 0
	}
	return int((u.Requested*200 + u.Allocatable) / (u.Allocatable * 2)) // rounded
}

// Node is a node that is made.
type Node struct {
	Name   string  `json:"name"`
	Pool   string  `json:"pool"`
	Plan   string  `json:"plan"`
	Static bool    `json:"static"`
	Cost   Cost    `json:"cost"`
	CPU    Use     `json:"cpu"`
	Memory Use     `json:"memory"`
	Pods   []Share `json:"pods"`
}

// Share is the pods of one workload.
type Share struct {
	Workload string `json:"workload"`
	Pods     int    `json:"pods"`
	CPU      int64  `json:"cpu,omitempty"`    // that they ask for on a node, thousandths
	Memory   int64  `json:"memory,omitempty"` // bytes
}

// Plan is all nodes of a pool that have one plan type.
type Plan struct {
	Pool   string `json:"pool"`
	Plan   string `json:"plan"`
	Static bool   `json:"static"`
	Nodes  int    `json:"nodes"`
	Pods   int    `json:"pods"`
	Cost   Cost   `json:"cost"`
	CPU    Use    `json:"cpu"`
	Memory Use    `json:"memory"`
}

// Refusal is the pods of one workload that get no node for the same reasons.
type Refusal struct {
	Workload string   `json:"workload"`
	Pods     int      `json:"pods"`
	Reasons  []Reason `json:"reasons"`
}

// result sums up where the pods are; pending are those without a node.
func (w *cluster) result(ctx context.Context, pending []*corev1.Pod) (Result, error) {
	r := Result{
		Asked: len(w.pods), Placed: len(w.pods) - len(pending), Refused: len(pending), Plans: []Plan{}, Nodes: []Node{},
		Refusals: []Refusal{}, Shortfalls: append([]Shortfall{}, w.shortfalls...), Notes: append([]string{}, w.notes...),
	}
	for _, m := range w.made {
		n := w.node(m)
		r.Nodes, r.Claims = append(r.Nodes, n), append(r.Claims, essence(m.claim))
		r.Total.Add(n.Cost)
	}
	r.Plans = plans(r.Nodes)
	r.Notes = append(r.Notes, overfullNotes(r.Nodes, r.Plans)...)
	var err error
	if r.Refusals, err = w.refusals(ctx, pending); err != nil {
		return Result{}, err
	}
	switch {
	case w.presumed != "":
		r.Notes = append(r.Notes, w.presumed)
	case len(w.daemons) == 0 && len(w.pods) > 0:
		r.Notes = append(r.Notes, fmt.Sprintf("No DaemonSets are given, and those of %s take some of each node, too: kubectl get "+
			"daemonsets -A -o yaml writes them.", w.backend.Whose()))
	}
	return r, r.check(len(w.pods))
}

// overfullNotes say on which nodes not all pods of DaemonSets have room.
func overfullNotes(nodes []Node, plans []Plan) (notes []string) {
	for _, p := range plans {
		if n := overfull(nodes, p); n > 0 {
			notes = append(notes, fmt.Sprintf("On %s of pool %s of %s not all pods of DaemonSets have room: Karpenter "+
				"did not count all of those that the nodes get.", Count(n, "node"), p.Pool, p.Plan))
		}
	}
	return notes
}

// essence is what of a NodeClaim its pool and its class say.
func essence(nc *karpv1.NodeClaim) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, Labels: nc.Labels, Annotations: nc.Annotations},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: nc.Spec.NodeClassRef, ExpireAfter: nc.Spec.ExpireAfter,
			TerminationGracePeriod: nc.Spec.TerminationGracePeriod,
		},
		Status: karpv1.NodeClaimStatus{Capacity: nc.Status.Capacity},
	}
}

func (w *cluster) node(m *simNode) Node {
	object, price := w.store.Nodes[m.claim.Name], w.types.Price(m.plan())
	requested, has := w.requested(object), object.Status.Allocatable
	n := Node{
		Name: m.claim.Name, Pool: m.pool(), Plan: m.plan(), Static: m.static,
		Cost:   Cost{Hourly: price.Hourly, Monthly: price.PerMonth()},
		CPU:    Use{requested.Cpu().MilliValue(), has.Cpu().MilliValue()},
		Memory: Use{requested.Memory().Value(), has.Memory().Value()},
		Pods:   []Share{},
	}
	on := map[int][]*corev1.Pod{}
	for _, pod := range w.store.Bound[m.claim.Name] {
		on[w.of[pod.UID]] = append(on[w.of[pod.UID]], pod)
	}
	for i, load := range w.workloads {
		if pods := on[i]; len(pods) > 0 {
			ask := resources.RequestsForPods(pods...)
			n.Pods = append(n.Pods, Share{load.Name, len(pods), ask.Cpu().MilliValue(), ask.Memory().Value()})
		}
	}
	return n
}

// overfull counts the nodes of a plan type of a pool whose pods ask for more than there
// is. Karpenter takes terms off the affinity of a DaemonSet that a plan type does not
// meet, and does not look at them for the next.
func overfull(nodes []Node, p Plan) (n int) {
	for _, node := range nodes {
		if node.Pool == p.Pool && node.Plan == p.Plan &&
			(node.CPU.Requested > node.CPU.Allocatable || node.Memory.Requested > node.Memory.Allocatable) {
			n++
		}
	}
	return n
}

// plans adds up nodes by pool and plan type, the dearest plan type of a pool first.
func plans(nodes []Node) []Plan {
	type key struct{ pool, plan string }
	at := map[key]int{}
	list := []Plan{}
	for _, n := range nodes {
		i, known := at[key{n.Pool, n.Plan}]
		if !known {
			i = len(list)
			at[key{n.Pool, n.Plan}] = i
			list = append(list, Plan{Pool: n.Pool, Plan: n.Plan, Static: n.Static})
		}
		p := &list[i]
		p.Nodes++
		for _, s := range n.Pods {
			p.Pods += s.Pods
		}
		p.Cost.Add(n.Cost)
		p.CPU.add(n.CPU)
		p.Memory.add(n.Memory)
	}
	slices.SortFunc(list, func(a, b Plan) int {
		each := func(p Plan) int64 { return int64(p.Cost.Hourly) / int64(p.Nodes) }
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), -cmp.Compare(each(a), each(b)), cmp.Compare(a.Plan, b.Plan))
	})
	return list
}

// refusals groups the pods without a node by workload and reasons.
func (w *cluster) refusals(ctx context.Context, pending []*corev1.Pod) ([]Refusal, error) {
	list := []Refusal{}
	if len(pending) == 0 {
		return list, nil
	}
	e, err := w.explainer(ctx)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, pod := range pending {
		reasons := e.reasons(ctx, pod)
		text, err := json.Marshal(reasons)
		if err != nil {
			return nil, err
		}
		load := w.workloads[w.of[pod.UID]].Name
		i, known := at[load+"\x00"+string(text)]
		if !known {
			i = len(list)
			at[load+"\x00"+string(text)] = i
			list = append(list, Refusal{Workload: load, Reasons: reasons})
		}
		list[i].Pods++
	}
	return list, nil
}
