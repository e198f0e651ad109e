package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Workloads are the pods on both sides of a change. Each side is simulated in an empty cluster.
type Workloads struct {
	Before, After Placed
	PlanTypes     []PlanType // by pool
	// Lost are the pods that have a node before the change and none after it.
	Lost  []Lost
	Notes []string // what was not simulated
	// Missing is why the number of Lost pods is unknown; empty if it is known.
	Missing []string
}

// Placed is the result of one side.
type Placed struct {
	Pods          int // with a node
	Unschedulable int // pods without a node
	Nodes         int
	Monthly       catalog.Money // cost of the nodes
	Buffers       catalog.Money // cost of the nodes that only buffers use
	// BuffersUnknown is why Buffers is not known; "" if it is.
	BuffersUnknown string
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
	Pool, Name    string
	Before, After Placed
}

// Lost is the pods of a workload that become unschedulable.
type Lost struct {
	Workload string // such as Deployment web/api
	Pods     int
	Reasons  []PoolReason
}

// PoolReason is a sentence on why a pool has no node for a pod. Pool is "" if the reason is the same for all pools.
type PoolReason struct{ Pool, Text string }

// Asked counts the simulated pods.
func (w Workloads) Asked() int { return w.After.Pods + w.After.Unschedulable }

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
		Source: g.Origins.Find(MaxUnschedulablePods).Range,
	}
	switch {
	case p.Workloads != nil:
		lost := p.Workloads.LostPods()
		v.Actual = fmt.Sprint(lost)
		if lost > most {
			v.Status = Blocked
			v.Detail = fmt.Sprintf("The change would make %s unschedulable, and the limit is %d.", diag.Counted(lost, "pod"), most)
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
