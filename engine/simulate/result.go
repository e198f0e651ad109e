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

	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Result is the nodes, the pods on them, and the reasons for unschedulable pods.
type Result struct {
	Asked   int `json:"asked"` // includes pods of buffers
	Placed  int `json:"placed"`
	Refused int `json:"refused"`

	Plans      []Plan      `json:"plans"` // by pool and plan type
	Total      Cost        `json:"total"`
	Spare      Spare       `json:"spare"`
	Refusals   []Refusal   `json:"refusals"`
	Shortfalls []Shortfall `json:"shortfalls"`
	Nodes      []Node      `json:"nodes"` // in the order of their creation
	Notes      []string    `json:"notes"` // what was not simulated

	Costs *costs.Breakdown `json:"costs,omitempty"` // what each namespace or label pays, if that is asked for

	// Claims are the NodeClaims of the nodes, in the same order, with the fields that changes to pools affect.
	Claims []*karpv1.NodeClaim `json:"-"`

	Consolidated *Consolidated `json:"settled,omitempty"` // the result of consolidation
}

// Use is the requests of pods, including those of DaemonSets, and the allocatable amount of a node: thousandths of a
// CPU, or bytes of memory.
type Use struct {
	Requested   int64 `json:"requested"`
	Allocatable int64 `json:"allocatable"`
}

func (u *Use) add(other Use) {
	u.Requested += other.Requested
	u.Allocatable += other.Allocatable
}

// Percent returns the requested share.
func (u Use) Percent() int {
	if u.Allocatable == 0 {
		return 0
	}
	return int((u.Requested*200 + u.Allocatable) / (u.Allocatable * 2)) // rounded
}

// Node is a created node.
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
	CPU      int64  `json:"cpu,omitempty"`    // their requests on a node, thousandths
	Memory   int64  `json:"memory,omitempty"` // bytes
}

// Plan is all nodes of a pool with one plan type.
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

// Refusal is the pods of one workload that are unschedulable for the same reasons.
type Refusal struct {
	Workload string   `json:"workload"`
	Pods     int      `json:"pods"`
	Reasons  []Reason `json:"reasons"`
}

// result sums up the nodes and pods; pending are the pods without a node.
func (w *cluster) result(ctx context.Context, pending []*corev1.Pod) (Result, error) {
	pending = slices.Concat(pending, w.spare.left())
	asked := len(w.pods) + len(w.spare.pods)
	r := Result{
		Asked: asked, Placed: asked - len(pending), Refused: len(pending), Plans: []Plan{}, Nodes: []Node{},
		Refusals: []Refusal{}, Shortfalls: append([]Shortfall{}, w.shortfalls...), Notes: append([]string{}, w.notes...),
	}
	for _, m := range w.made {
		n := w.node(m)
		r.Nodes, r.Claims = append(r.Nodes, n), append(r.Claims, claimEssence(m.claim))
		r.Total.Add(n.Cost)
	}
	r.Plans = sumByPlan(r.Nodes)
	if w.costBy != nil {
		r.Costs = w.costBy.Split(w.payers(r.Nodes))
	}
	var notes []string
	r.Spare, notes = w.spareOf(r.Nodes)
	r.Notes = slices.Concat(r.Notes, overfullNotes(r.Nodes, r.Plans), notes)
	var err error
	if r.Refusals, err = w.refusals(ctx, pending); err != nil {
		return Result{}, err
	}
	switch {
	case w.presumed != "":
		r.Notes = append(r.Notes, w.presumed)
	case len(w.daemons) == 0 && len(w.pods) > 0:
		r.Notes = append(r.Notes, fmt.Sprintf("There are no DaemonSets, although those of %s use a part of each node. To include them, pass --workloads the output of kubectl get "+
			"daemonsets -A -o yaml.", w.mode.Provider()))
	}
	return r, r.check(asked)
}

// overfullNotes name the nodes on which not all pods of DaemonSets fit, by pool and plan type. Karpenter removes
// terms from the affinity of a DaemonSet that a plan type does not match, and ignores them for the next plan type.
func overfullNotes(nodes []Node, plans []Plan) (notes []string) {
	for _, p := range plans {
		n := 0
		for _, node := range nodes {
			if node.Pool == p.Pool && node.Plan == p.Plan &&
				(node.CPU.Requested > node.CPU.Allocatable || node.Memory.Requested > node.Memory.Allocatable) {
				n++
			}
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("On %s of pool %s with %s, not all pods of DaemonSets fit: Karpenter "+
				"did not count all pods of DaemonSets on these nodes.", text.Count(n, "node"), p.Pool, p.Plan))
		}
	}
	return notes
}

// claimEssence returns a NodeClaim with only the fields from its pool and its class.
func claimEssence(nc *karpv1.NodeClaim) *karpv1.NodeClaim {
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
	for _, pod := range w.podsOn(m.claim.Name) {
		on[w.workloadOf[pod.UID]] = append(on[w.workloadOf[pod.UID]], pod)
	}
	for i, load := range w.workloads {
		if pods := on[i]; len(pods) > 0 {
			ask := resources.RequestsForPods(pods...)
			n.Pods = append(n.Pods, Share{load.Name, len(pods), ask.Cpu().MilliValue(), ask.Memory().Value()})
		}
	}
	return n
}

// payers returns the nodes with the pods among which their cost is split.
func (w *cluster) payers(nodes []Node) (list []costs.Node) {
	for _, n := range nodes {
		payer := costs.Node{Monthly: n.Cost.Monthly, Allocatable: w.store.Nodes[n.Name].Status.Allocatable}
		for _, pod := range w.store.Bound[n.Name] {
			payer.Pods = append(payer.Pods, costs.Pod{Share: w.costBy.Of(pod), Requests: resources.RequestsForPods(pod)})
		}
		for _, pod := range w.spare.on[n.Name] {
			payer.Pods = append(payer.Pods, costs.Pod{Share: costs.Buffers, Requests: resources.RequestsForPods(pod)})
		}
		list = append(list, payer)
	}
	return list
}

// sumByPlan adds up nodes by pool and plan type, the most expensive plan type of a pool first.
func sumByPlan(nodes []Node) []Plan {
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
		load := w.workloads[w.workloadOf[pod.UID]].Name
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
