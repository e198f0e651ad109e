// Package capacity decides which calls to make to LKE so that each NodeClaim gets one machine and no machine
// is left without a NodeClaim.
//
// It is pure: a View of claims and pools, the Memory of earlier decisions and the
// time go in, a Decision with the next Memory comes out. It knows no client, no
// clock and no Karpenter type.
//
// The rules, for each group of interchangeable slots:
//
//	owned    a slot whose instance is some claim's machine
//	demand   claims without a machine
//	supply   unowned slots: with an instance, without one yet, or
//	         counted by LKE but not listed yet
//
//	bind     a claim of the demand takes an unowned slot with an instance
//	end      a slot that stays without an instance for too long, with it a claim that
//	         has waited for as long; or a slot of which LKE has written that it cannot
//	         create its node, with it the claim that waits for it
//	grow     demand above supply: one call that raises one pool's count
//	shrink   a released claim's slot is deleted immediately; supply above demand
//	         is deleted after it was unowned for a grace period
//
// A call without an answer may be done up to two minutes later. Memory keeps what was
// asked until its effect shows or cannot come any more: after a PUT only the same count
// is asked of that pool, a POST counts as supply, and what was to be deleted is given to
// no claim.
//
// A restart forgets that. This bounds what it can cost:
//
//   - No count is lowered: for two minutes pools that were there before are not grown;
//     what is missing comes in new pools.
//   - Of each group at most the nodes of the POSTs that were under way are made twice;
//     the surplus is deleted after the grace period.
//   - A claim can get a machine that the last process was deleting. It is lost within
//     two minutes, and the claim is ended as for any lost machine.
//   - Waits restart: those of claims, for slots without an instance, for machines that are offline, for
//     backoffs, for grace periods.
package capacity

import (
	"cmp"
	"slices"
	"time"
)

// View is the state of LKE and the API server at one time.
type View struct {
	Claims []Claim
	Pools  []Pool
	Nodes  map[int]Node // registered Nodes by instance
	Asked  time.Time    // when the request for the pools was sent: changes before it are in the answer
	Shown  time.Time    // when LKE answered, by its own clock; zero if unknown

	Failures []Failure    // LKE's failures since the time that Memory.Doubts returns; none if LKE was not asked
	Offline  map[int]bool // whether machines that Memory.Unjoined returns are offline, if they were checked
}

// Claim is a NodeClaim, as far as it matters for capacity.
type Claim struct {
	UID      string
	Name     string // for messages
	Group    Group
	Instance int       // the Linode that is its machine; 0 while it waits for one
	Created  time.Time // older claims get machines first
	Leaving  bool      // it is being deleted and needs no machine
	// Registered claims have had a Node, which may not exist any more.
	Registered bool
	// Maintained claims have a machine on a host that is under maintenance. This explains that the machine is off,
	// that its Node is not ready, and that its slot shows no instance.
	Maintained bool

	released bool // Memory.Release was called: its machine may be deleted
}

// Pool is an LKE node pool.
type Pool struct {
	ID    int
	Group string // key of the group in its tag; "" if it is not a pool of lkeplan
	Count int
	Slots []Slot
	Traits
	// Adopted pools were created by another provider for the NodePool.
	Adopted  bool
	NodePool string
}

// hidden returns the number of slots that LKE counts and does not list yet. On Enterprise this lasts about a minute.
func (p Pool) hidden() int { return max(0, p.Count-len(p.Slots)) }

// Slot is a place for a node in a pool.
type Slot struct {
	ID       string
	Instance int // 0: no Linode yet
}

// Policy has the settings of Decide.
type Policy struct {
	Grace       time.Duration // how long a slot without an instance may stay unowned
	Keep        time.Duration // how long a slot with an instance may stay unowned
	SlotTimeout time.Duration // how long a slot may stay without an instance, or unlisted
	PoolSize    int           // nodes in a pool
	ClusterSize int           // nodes in the cluster; 0 means any number
	Quick       time.Duration // from one poll to the next while a claim waits
	Idle        time.Duration // from one poll to the next while no claim waits
}

// Decision says what to do now. Memory is the argument for the next call of Decide.
type Decision struct {
	Binds   []Bind
	Works   []Work   // at most one for each group, sorted by group
	Lost    []string // claims whose machine LKE does not have any more: delete them
	Offline []string // claims whose machine stays offline and has never become a Node: delete them
	Unseen  []string // claims that keep a machine which no list shows, reported once: see findLost
	Drains  []Drain  // Nodes to delete before their machines
	Kept    []Kept   // machines that cost money and stay, each reported once
	Granted []string // claims that wait for a slot that LKE has granted, but does not list yet or has not given an instance
	Full    []string // claims for which the cluster has no room, each reported once
	Waiting bool     // some claim waits for a slot or an instance, or is shown without its machine
	PollIn  time.Duration
	Memory  Memory
}

// Bind gives a claim its machine.
type Bind struct {
	Key      string // of the group
	UID      string
	Instance int
}

// Decide compares claims with pools. It returns no Work for a group whose last Work has not finished, or has
// finished after the request for the view was sent, because the view may not show its effects. The returned Works
// and Binds count as started; Memory.Finish and Memory.Bound end them.
func Decide(view View, memory Memory, policy Policy, now time.Time) Decision {
	d := Decision{Memory: memory.after(view, now)}
	s := &input{
		View: view, owner: map[int]Claim{}, listed: map[int]bool{}, living: map[string]bool{}, memory: &d.Memory,
		policy: policy, now: now, listedLate: map[int]time.Time{},
	}
	missed := d.Memory.compare(view, now)
	s.rebind(&d)
	s.claims = d.Memory.complete(view.Claims)
	for _, c := range s.claims {
		if c.Instance != 0 {
			s.owner[c.Instance] = c
		}
	}
	s.rememberPools(memory)
	s.rememberNodes(memory)
	s.rememberHidden(memory)
	groups, room := s.gather(memory), s.room()
	for _, g := range groups {
		g.remember(memory, &d.Memory, now)
		s.explain(g, memory)
		work := g.decide(s, &d, missed[g.key], &room)
		g.correct(memory, &d.Memory, &work, now)
		if !work.idle() {
			d.Works = append(d.Works, work)
		}
	}
	s.forgetFailures()
	s.drainUnowned(&d, groups, memory)
	s.reportUnowned(&d, memory)
	s.findLost(&d, memory)
	s.findOffline(&d, memory)
	s.confirmGone(&d)
	d.Full = slices.DeleteFunc(d.Full, func(uid string) bool { return !d.Memory.report(memory, uid) })
	d.markStarted(view, now)
	d.pollIn(policy, now)
	return d
}

// reverted is how long a claim may be shown without the machine that was stored on it.
const reverted = 10 * time.Second

// rebind stores the machines of claims again that have lost their provider id, because a user has restored an older
// state or has overwritten a newer one.
func (s *input) rebind(d *Decision) {
	groups := map[int]string{}
	for _, p := range s.Pools {
		for _, slot := range p.Slots {
			groups[slot.Instance] = cmp.Or(p.Group, "untagged")
		}
	}
	for _, c := range s.Claims {
		a, ok := s.memory.assigned[c.UID]
		if _, released := s.memory.released[c.UID]; !ok || c.Instance != 0 || a.underway || c.Leaving || released {
			continue
		}
		if g := groups[a.instance]; g != "untagged" && g != c.Group.Key() {
			delete(s.memory.assigned, c.UID) // it is gone, or the claim waits for another plan type
			continue
		}
		if s.now.Sub(a.at) < reverted {
			d.Waiting = true // it may not be stored
			continue
		}
		s.memory.assigned[c.UID] = assignment{instance: a.instance, at: a.at, underway: true}
		d.Binds = append(d.Binds, Bind{Key: c.Group.Key(), UID: c.UID, Instance: a.instance})
	}
}

// markStarted removes the works of groups that have a Work in progress, and marks the others as started.
func (d *Decision) markStarted(view View, now time.Time) {
	m := &d.Memory
	poolOf := map[string]int{}
	for _, p := range view.Pools {
		for _, s := range p.Slots {
			poolOf[s.ID] = p.ID
		}
	}
	var begun []Work
	for _, w := range d.Works {
		g := m.groups[w.Key]
		if m.moving(w.Key, view.Asked) {
			continue
		}
		g.busy = true
		m.groups[w.Key] = g
		m.calls.send(w, poolOf, now)
		begun = append(begun, w)
	}
	d.Works = begun
}

// pollIn sets when to poll LKE again: soon while a claim waits, and later if it has waited for long.
func (d *Decision) pollIn(policy Policy, now time.Time) {
	if !d.Waiting && len(d.Works) == 0 && d.Memory.idle() {
		d.Memory.waitingSince, d.PollIn = time.Time{}, policy.Idle
		return
	}
	if d.Memory.waitingSince.IsZero() {
		d.Memory.waitingSince = now
	}
	switch waited := now.Sub(d.Memory.waitingSince); {
	case waited < 30*time.Second:
		d.PollIn = policy.Quick
	case waited < 2*time.Minute:
		d.PollIn = 2 * policy.Quick
	default:
		d.PollIn = 5 * policy.Quick
	}
}
