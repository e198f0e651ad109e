package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Workloads are the pods on both sides of a change. Each side is simulated in an empty cluster.
type Workloads struct {
	Pods      int            `json:"pods" doc:"Simulated pods. Each side is simulated in an empty cluster."`
	Before    Placed         `json:"before"`
	After     Placed         `json:"after"`
	PlanTypes List[PlanType] `json:"plan_types" doc:"The nodes on both sides, by pool and plan type."`
	Lost      List[Lost]     `json:"newly_unschedulable" doc:"Pods that have a node before the change and none after it."`
	Costs     []CostShare    `json:"costs,omitempty" doc:"What each namespace pays for the nodes, or each value of the label of --cost-by."`
	Notes     List[string]   `json:"notes" doc:"What was not simulated."`
	Missing   []string       `json:"missing,omitempty" doc:"Sources of pods that could not be read. The numbers leave their pods out."`
}

// Placed is the result of one side.
type Placed struct {
	Pods          int           `json:"pods" doc:"Pods with a node."`
	Unschedulable int           `json:"unschedulable" doc:"Pods without a node."`
	Nodes         int           `json:"nodes"`
	Monthly       Amount        `json:"monthly" doc:"The monthly cost of the nodes, in US dollars."`
	Buffers       catalog.Money `json:"-"` // cost of the nodes that only buffers use
	// BuffersUnknown is why Buffers is not known; "" if it is.
	BuffersUnknown string `json:"-"`
}

// Plus returns the sum of two.
func (p Placed) Plus(q Placed) Placed {
	return Placed{
		Pods: p.Pods + q.Pods, Unschedulable: p.Unschedulable + q.Unschedulable, Nodes: p.Nodes + q.Nodes,
		Monthly: p.Monthly + q.Monthly, Buffers: p.Buffers + q.Buffers, BuffersUnknown: cmp.Or(p.BuffersUnknown, q.BuffersUnknown),
	}
}

// PlanType is the nodes of a pool with one plan type, on both sides.
type PlanType struct {
	Pool   string `json:"pool" doc:"The name of the NodePool."`
	Name   string `json:"plan_type"`
	Before OnType `json:"before"`
	After  OnType `json:"after"`
}

// OnType is the pods on the nodes of one plan type.
type OnType struct {
	Pods    int    `json:"pods"`
	Nodes   int    `json:"nodes"`
	Monthly Amount `json:"monthly"`
}

// CostShare is the monthly cost of the pods of a namespace, or with a value of a label, with their part of idle room.
type CostShare struct {
	By     string `json:"by" doc:"namespace, or label:KEY."`
	Name   string `json:"name"`
	Before Amount `json:"before"`
	After  Amount `json:"after"`
}

// Lost is the pods of a workload that become unschedulable.
type Lost struct {
	Workload string           `json:"workload" doc:"Such as Deployment web/api."`
	Pods     int              `json:"pods"`
	Reasons  List[PoolReason] `json:"reasons"`
}

// PoolReason is a sentence on why a pool has no node for a pod.
type PoolReason struct {
	Pool string `json:"pool,omitempty" doc:"The name of the NodePool; absent if the reason is the same for all pools."`
	Text string `json:"text"`
}

// LostPods counts the pods that become unschedulable.
func (w Workloads) LostPods() (n int) {
	for _, l := range w.Lost {
		n += l.Pods
	}
	return n
}

// unschedulable limits the pods that become unschedulable. Without simulated pods it has no verdict, unless the guard
// is configured: then it is unknown.
func (p Plan) unschedulable(g config.Guards) []Verdict {
	most := 0
	if g.MaxUnschedulablePods != nil {
		most = *g.MaxUnschedulablePods
	}
	v := Verdict{
		Guard: MaxUnschedulablePods, Status: Passed, Default: g.Default, Limit: fmt.Sprint(most),
		Source: diag.RangeOf(g.Origins.Find(MaxUnschedulablePods).Range),
	}
	switch {
	case p.Workloads != nil:
		lost := p.Workloads.LostPods()
		v.Actual = fmt.Sprint(lost)
		if lost > most {
			v.Status = Blocked
			v.Detail = fmt.Sprintf("The change would make %s unschedulable, and the limit is %d.", text.Count(lost, "pod"), most)
		} else if missing := p.Workloads.Missing; len(missing) > 0 && !p.Empty() {
			v.Actual = ""
			v.Status, v.Detail = Uncounted(g, "It is unknown whether all pods would still get a node: "+
				strings.Join(missing, "; ")+".")
		}
	case g.MaxUnschedulablePods == nil:
		return nil
	case !p.Empty():
		v.Status, v.Detail = Unknown, "The effect on pods is unknown without a simulation. To simulate them, add --simulate."
	}
	return []Verdict{v}
}

// Sides returns the objects before and after the change, as the API server stores them. Unchanged objects of the
// head and forgotten objects are on both sides.
func (p Plan) Sides(base, head []config.Object) (before, after []config.Object) {
	changed, known := map[manifest.Key]bool{}, ByKey(base)
	add := func(to *[]config.Object, stored map[string]any) {
		if stored != nil {
			*to = append(*to, config.Object{Manifest: stored, Defaulted: stored})
		}
	}
	for _, c := range p.Changes {
		changed[c.Key()] = true
		if c.Action == Forget {
			stays := c.Released
			if stays == nil {
				stays = known[c.Key()].Defaulted
			}
			c.Old, c.New = stays, stays
		}
		add(&before, c.Old)
		add(&after, c.New)
	}
	for _, o := range head {
		if !changed[o.Key()] {
			before, after = append(before, o), append(after, o)
		}
	}
	return before, after
}
