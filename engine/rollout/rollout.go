// Package rollout tests a revision on a first wave of nodes: it decides which pools are in the wave, how many of
// their nodes are replaced, and when the wave has succeeded or failed. If a NodePlan has spec.rollout, its
// reconciler calls Begin for a new revision; then, until the wave is Proven or Failed, it calls Observe and Decide,
// and applies Stage.Objects.
//
// The package is pure. Between two decisions the state is a RolloutStatus in the status of the NodePlan: a phase,
// and the names of the new nodes. A node is new if it has the hash of the wave and did not exist before the wave.
// The controller measures the time between two checks. Timestamps from the cluster are not used, and time without a
// running controller does not count. Neither does time while Linode has no capacity, or while budgets or
// PodDisruptionBudgets block the replacement of all outdated nodes.
package rollout

import (
	"time"

	"github.com/lkeplan/lkeplan/engine/cluster"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Terms are the settings of a rollout in a NodePlan.
type Terms struct {
	Canary   []string      // the NodePools of the first wave; empty means all that the revision changes
	Nodes    int           // number of nodes of each pool in the first wave
	Stable   time.Duration // how long the new nodes must stay ready
	Timeout  time.Duration // the time within which the wave must succeed
	Rollback bool          // roll back a revision that fails
}

// Defaults and bounds of the settings.
const (
	maxStable  = time.Hour
	maxTimeout = 24 * time.Hour
)

// TermsOf reads the spec of a NodePlan, with its defaults and bounds.
func TermsOf(spec lkeplanv1alpha1.RolloutSpec) Terms {
	t := Terms{
		Canary: spec.Canary, Nodes: max(spec.Nodes, 1), Stable: 2 * time.Minute, Timeout: 15 * time.Minute,
		Rollback: spec.OnFailure == lkeplanv1alpha1.RolloutRollback,
	}
	if spec.Stable != nil {
		t.Stable = min(max(spec.Stable.Duration, 0), maxStable)
	}
	if spec.Timeout != nil && spec.Timeout.Duration > 0 {
		t.Timeout = min(spec.Timeout.Duration, maxTimeout)
	}
	return t
}

// Pool is the current state of a pool of the first wave.
type Pool struct {
	Name     string
	Waited   time.Duration // how much of its timeout has passed
	New      []Node        // existing nodes with the template of the revision
	Lost     int           // new nodes that were ready and do not exist any more
	Outdated int           // nodes that are still to be replaced
	Held     int           // outdated nodes whose replacement is blocked by something other than the revision
	Hold     string        // what blocks them, as a sentence; "" for nothing
	// NoStock is the last message about missing capacity; "" for none.
	NoStock string
	// Refused is the last message about machines that are refused because of what the revision asks for; "" for
	// none.
	Refused string
	// Blocked is Karpenter's last message about why it replaces no node; "" for none.
	Blocked string
	// Unhealthy is the reason why NodeRegistrationHealthy of the pool is false; "" if it is not.
	Unhealthy string
}

// Node is a node that was created in the first wave.
type Node struct {
	Name  string            // the name of its NodeClaim
	State cluster.NodeState // its progress: requested, joining, not ready or ready
	// Since is the time from which the node is Ready according to the cluster. It is only compared with an earlier
	// value, to find out whether the node was not ready in between.
	Since time.Time
	For   time.Duration // how long the controller has seen it Ready since then
}

// Step is what to do about a revision.
type Step int

// The steps of a revision.
const (
	Wait   Step = iota
	Proven      // apply the rest of the revision
	Failed      // stop applying the revision, and roll back if the terms say so
)

// Decision is the result of Decide.
type Decision struct {
	Step Step
	// Room is how many more nodes of each pool of the wave may be replaced.
	Room map[string]int
	// Excused are the pools whose timeout must be restarted, because no time counts at present.
	Excused      map[string]bool
	Words        []string      // one line for each pool that has not succeeded, or the reasons of the failure
	RequeueAfter time.Duration // when to check again; 0 if nothing is pending
}

// checkInterval is the longest time between two checks of a wave.
const checkInterval = 10 * time.Second

// Decide decides about a wave that has run for a time. whole means that the revision replaces or creates nodes of
// no other pools.
func Decide(t Terms, whole bool, ran time.Duration, pools []Pool) Decision {
	d := Decision{Step: Proven, Room: map[string]int{}, Excused: map[string]bool{}, RequeueAfter: checkInterval}
	soon := func(left time.Duration) {
		if left > 0 {
			d.RequeueAfter = min(d.RequeueAfter, left+time.Second)
		}
	}
	if ran < t.Stable { // it takes time until pods turn out to be unschedulable
		d.Step = Wait
		soon(t.Stable - ran)
	}
	good := 0
	all := make([]standing, len(pools))
	for i, p := range pools {
		all[i] = t.countNodes(p)
		good += all[i].good
	}
	var failures []string
	for i, p := range pools {
		s := all[i]
		s.empty = s.proven() && good == 0 && !whole
		d.Room[p.Name] = s.room
		if s.proven() && !s.empty {
			continue
		}
		d.Step = Wait
		d.Words = append(d.Words, t.waits(p, s))
		soon(s.stableIn)
		switch {
		case !s.runs() && s.ready == 0: // nothing is missing that the revision could be the cause of
			d.Excused[p.Name] = true
		case s.runs() && p.Waited >= t.Timeout:
			failures = append(failures, t.failed(p, s))
		case s.runs():
			soon(t.Timeout - p.Waited)
		}
	}
	if len(failures) > 0 {
		return Decision{Step: Failed, Room: noRoom(pools), Words: failures}
	}
	if d.Step == Proven {
		d.RequeueAfter = 0
	}
	return d
}

// noRoom lets no nodes be replaced.
func noRoom(pools []Pool) map[string]int {
	room := map[string]int{}
	for _, p := range pools {
		room[p.Name] = 0
	}
	return room
}

// standing is the progress of a pool of a wave.
type standing struct {
	need   int // number of nodes that must succeed
	good   int // nodes that have stayed ready long enough
	ready  int // nodes that are ready, but not yet for long enough
	asked  int
	coming int // nodes with a machine that are not ready
	unmade int // nodes without a NodeClaim
	room   int
	late   bool // something is missing that the revision may have caused
	empty  bool // no pod needs a node of it, and no other pool of the wave has a good one

	stableIn time.Duration // time until the next ready node has been ready for long enough
}

func (s standing) proven() bool { return s.good >= s.need && !s.late }

// runs reports whether the timeout of the pool is running.
func (s standing) runs() bool { return s.late || s.empty }

// countNodes counts the nodes of a pool. While nodes are to be replaced, at least one new node must succeed: nodes
// that went without a replacement, because their pods run elsewhere or nobody needs them, prove nothing, and do not
// use up the number of nodes in the wave.
func (t Terms) countNodes(p Pool) standing {
	var s standing
	for _, n := range p.New {
		switch {
		case n.State == cluster.NodeRequested:
			s.asked++
		case n.State != cluster.NodeReady:
			s.coming++
		case n.For < t.Stable:
			s.ready++
			if left := t.Stable - n.For; s.stableIn == 0 || left < s.stableIn {
				s.stableIn = left
			}
		default:
			s.good++
		}
	}
	s.room = max(0, t.Nodes-len(p.New)-p.Lost)
	s.need = min(t.Nodes, len(p.New)+p.Outdated)
	missing := max(0, s.need-s.good-s.ready)
	s.unmade = max(0, missing-s.asked-s.coming)
	free := s.unmade > 0 && p.NoStock == "" && p.Held < max(p.Outdated, 1)
	s.late = missing > 0 && (s.coming > 0 || s.asked > 0 && p.Refused != "" || free) || p.Unhealthy != ""
	return s
}
