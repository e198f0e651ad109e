package plan

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Workloads are what becomes of pods on both sides of a change, each simulated on a
// cluster without nodes.
type Workloads struct {
	Before, After Placed
	PlanTypes     []PlanType // by pool
	// Lost are the pods that have a node before the change, and none after it.
	Lost  []Lost
	Notes []string // what was not simulated
	// Missing is why it is not known how many pods lose their nodes; none if it is known.
	Missing []string
}

// Placed is where pods are on one side.
type Placed struct {
	Pods          int // that have a node
	Unschedulable int // pods without one
	Nodes         int
	Monthly       catalog.Money // that the nodes cost
}

// Plus is the sum of two.
func (p Placed) Plus(q Placed) Placed {
	return Placed{
		Pods: p.Pods + q.Pods, Unschedulable: p.Unschedulable + q.Unschedulable, Nodes: p.Nodes + q.Nodes,
		Monthly: p.Monthly + q.Monthly,
	}
}

// PlanType is the nodes of a pool that are of one plan type, on both sides.
type PlanType struct {
	Pool, Name    string
	Before, After Placed
}

// Lost is the pods of a workload that get no node any more.
type Lost struct {
	Workload string // such as Deployment web/api
	Pods     int
	Reasons  []PoolReason
}

// PoolReason says in a sentence why a pool has no node for a pod; Pool is "" where it is
// the same for all.
type PoolReason struct{ Pool, Text string }

// Asked counts the pods that were simulated.
func (w Workloads) Asked() int { return w.After.Pods + w.After.Unschedulable }

// LostPods counts the pods that get no node any more.
func (w Workloads) LostPods() (n int) {
	for _, l := range w.Lost {
		n += l.Pods
	}
	return n
}

// unschedulable bounds the pods that lose their nodes. Where none were simulated, it has
// nothing to say; it says so where the guard is written.
func (p Plan) unschedulable(g config.Guards) []Verdict {
	most := 0
	if g.MaxUnschedulablePods != nil {
		most = *g.MaxUnschedulablePods
	}
	v := Verdict{
		Guard: MaxUnschedulablePods, Status: Passed, Limit: fmt.Sprint(most),
		Source: g.Origins.Find(MaxUnschedulablePods).Range,
	}
	switch {
	case p.Workloads != nil:
		lost := p.Workloads.LostPods()
		if v.Actual = fmt.Sprint(lost); lost > most {
			v.Status = Blocked
			v.Detail = fmt.Sprintf("%s would get no node any more, and at most %d may be in one change.",
				diag.Counted(lost, "pod"), most)
		} else if missing := p.Workloads.Missing; len(missing) > 0 && !p.Empty() {
			v.Actual = ""
			v.Status, v.Detail = Uncounted(g, "Whether all pods keep a node is not known: "+
				strings.Join(missing, "; ")+".")
		}
	case g.MaxUnschedulablePods == nil:
		return nil
	case !p.Empty():
		v.Status, v.Detail = Unknown, "What becomes of pods is not known without a simulation: add --simulate."
	}
	return []Verdict{v}
}

// Sides are the objects before and after the change, as they are stored. What of head does
// not change is on both sides, and so is what is forgotten.
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
