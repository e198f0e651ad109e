// Package rollout decides how a revision is tested on a first wave of nodes: which pools are in the
// wave, how many of their nodes are replaced, and when the wave has succeeded or failed. The
// reconciler of NodePlans calls it if spec.rollout is set.
//
// It is pure. Between two decisions the state is a RolloutStatus in the status of the NodePlan: a
// phase, and the names of the new nodes. A node is new if it has the hash of the wave and did not
// exist before the wave. The controller measures the time between two checks. Timestamps from the
// cluster are not used, and time without a running controller does not count. Neither does time
// while Linode has no capacity, or while budgets or PodDisruptionBudgets block the replacement of all
// outdated nodes.
package rollout

import (
	"time"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Terms are what a NodePlan asks of a revision.
type Terms struct {
	Canary   []string      // the NodePools that go first; none: all that the revision changes
	Nodes    int           // of each pool, that are replaced first
	Stable   time.Duration // how long they have to stay ready
	Timeout  time.Duration // until they have to be
	Rollback bool          // whether a revision that fails is taken back
}

// The bounds of what a NodePlan may ask.
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

// Pool is a pool of the first wave as it is at a moment.
type Pool struct {
	Name     string
	Waited   time.Duration // how much of its time has passed
	New      []Node        // that are there, of what the revision asks for
	Lost     int           // new nodes that were ready, and are gone
	Outdated int           // nodes that are still to be replaced
	Held     int           // of these, that something holds that the revision has not made
	Hold     string        // what holds them, as a sentence; "" for nothing
	// NoStock is what was last said of machines that cannot be had now; "" for nothing.
	NoStock string
	// Refused is what was last said of machines that are refused because of what the
	// revision asks for; "" for nothing.
	Refused string
	// Blocked is what Karpenter last said of why it replaces no node; "" for nothing.
	Blocked string
	// Unhealthy is why NodeRegistrationHealthy of the pool is false; "" if it is not.
	Unhealthy string
}

// Node is a node that was made in the first wave.
type Node struct {
	Name  string // of its NodeClaim
	State NodeState
	// Since is since when it is Ready, as the cluster says. It is compared with what the cluster
	// said before only.
	Since time.Time
	For   time.Duration // how long it was seen Ready since then
}

// NodeState is how far a node is.
type NodeState int

// The states.
const (
	Asked   NodeState = iota // there is no machine for it yet
	Joining                  // its machine is no node of the cluster yet
	Unready                  // it is, and not ready
	Ready
)

// Step is what is to be done about a revision.
type Step int

// The steps.
const (
	Wait   Step = iota
	Proven      // the rest of it may be applied
	Failed      // it is not applied any further, and taken back where that was asked for
)

// Decision is what is to be done.
type Decision struct {
	Step Step
	// Room is how many nodes each pool of the wave may still have replaced.
	Room map[string]int
	// Excused are the pools whose time does not run at this moment.
	Excused      map[string]bool
	Words        []string      // a line for each pool that is not proven, or why it failed
	RequeueAfter time.Duration // when to look again; 0 where nothing is waited for
}

// look is how often a wave is looked at, at the least.
const look = 10 * time.Second

// Decide decides about a wave that has run for a time; whole tells that its pools are all of
// which the revision replaces or creates nodes.
func Decide(t Terms, whole bool, ran time.Duration, pools []Pool) Decision {
	d := Decision{Step: Proven, Room: map[string]int{}, Excused: map[string]bool{}, RequeueAfter: look}
	soon := func(left time.Duration) {
		if left > 0 {
			d.RequeueAfter = min(d.RequeueAfter, left+time.Second)
		}
	}
	if ran < t.Stable { // pods need their time to find that they fit nowhere
		d.Step = Wait
		soon(t.Stable - ran)
	}
	good := 0
	all := make([]standing, len(pools))
	for i, p := range pools {
		all[i] = t.standing(p)
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
		case !s.runs() && s.ready == 0: // all that is missing is nothing that the revision could mend
			d.Excused[p.Name] = true
		case s.runs() && p.Waited >= t.Timeout:
			failures = append(failures, t.failed(p, s))
		case s.runs():
			soon(t.Timeout - p.Waited)
		}
	}
	if len(failures) > 0 {
		return Decision{Step: Failed, Room: closed(pools), Words: failures}
	}
	if d.Step == Proven {
		d.RequeueAfter = 0
	}
	return d
}

// closed lets no pool have a node replaced.
func closed(pools []Pool) map[string]int {
	room := map[string]int{}
	for _, p := range pools {
		room[p.Name] = 0
	}
	return room
}

// standing is how a pool of a wave stands.
type standing struct {
	need   int // nodes that have to be good
	good   int // that have stayed ready
	ready  int // that are ready, and have not stayed so for long enough
	asked  int
	coming int // that have a machine, and are not ready
	unmade int // that are not asked for
	room   int
	late   bool // something is missing that the revision may be to blame for
	empty  bool // no pod needs a node of it, and no other pool of the wave has a good one

	stableIn time.Duration // until the next ready one has stayed so
}

func (s standing) proven() bool { return s.good >= s.need && !s.late }

// runs reports whether the time of the pool can come to its end.
func (s standing) runs() bool { return s.late || s.empty }

// standing counts the nodes of a pool. While nodes are to be replaced a new one has to be good:
// those that are gone without a new one in their place, as their pods went elsewhere or no user
// needs them, neither prove anything nor have had a turn.
func (t Terms) standing(p Pool) standing {
	var s standing
	for _, n := range p.New {
		switch {
		case n.State == Asked:
			s.asked++
		case n.State != Ready:
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
