package capacity

import (
	"slices"
	"time"
)

// absence is the time since which no list shows a claim's machine, and when it was last reported.
type absence struct{ since, reported time.Time }

// A machine is lost if it is missing in two lists with at least this time between them: a single list may be wrong,
// and lists that lack whole pools may be wrong for longer. A claim that still exists afterwards is reported again.
const (
	lostAfter         = 10 * time.Second
	lostWithPoolAfter = time.Minute
	lostAgain         = time.Minute
)

// rememberPools remembers which pool lists each machine. For machines of claims it remembers the pool that listed
// them last.
func (s *input) rememberPools(old Memory) {
	for _, c := range s.claims {
		if pool, ok := old.lastSeen[c.Instance]; ok && c.Instance != 0 {
			s.memory.lastSeen[c.Instance] = pool
		}
	}
	for _, p := range s.Pools {
		for _, slot := range p.Slots {
			if slot.Instance != 0 {
				s.memory.lastSeen[slot.Instance] = p.ID
			}
			s.listed[slot.Instance] = true
		}
	}
}

// mayBe reports whether LKE has, or may have, the machine of a claim. It may be in a slot that LKE does not list:
// in the pool that listed it last, or, if no list ever did, in any pool that can be the claim's.
//
// Unverified: that a slot which was listed once stays listed until it is gone.
func (s *input) mayBe(c Claim) bool {
	if s.listed[c.Instance] {
		return true
	}
	last, seen := s.memory.lastSeen[c.Instance]
	key := c.Group.Key()
	return slices.ContainsFunc(s.Pools, func(p Pool) bool {
		if seen {
			return p.ID == last && s.fresh(p) > 0
		}
		return (p.Group == key || p.Group == "") && s.fresh(p) > 0
	})
}

// findLost finds claims whose machine is gone without having been released, because a user deleted it, or LKE
// recycled the node. It skips claims of another provider whose machine no list has ever shown, because the machine
// may not belong to LKE. A machine whose Node is ready exists, even if no list has it: a Node whose machine is gone
// ceases to be ready within a minute. A machine whose host is under maintenance comes back, unless LKE has given
// its slot to another instance.
func (s *input) findLost(d *Decision, old Memory) {
	for _, c := range s.claims {
		if c.Instance == 0 || c.Leaving || s.memory.assigned[c.UID].underway || s.mayBe(c) {
			continue
		}
		a, again := old.lost[c.UID]
		if !again {
			a.since = s.now
		}
		pool, seen := s.memory.lastSeen[c.Instance]
		if !seen && c.Group.Plan == "" {
			continue
		}
		wait := lostAfter
		if !seen || s.memory.firstShown[pool].IsZero() {
			wait = lostWithPoolAfter
		}
		due := s.now.Sub(a.since) >= wait
		if n := s.Nodes[c.Instance]; n.Ready && !n.Leaving || c.Maintained && s.empty(n.Slot) {
			if due && s.memory.report(old, c.UID) {
				d.Unseen = append(d.Unseen, c.UID)
			}
			due = false
		}
		if due && s.now.Sub(a.reported) >= lostAgain {
			a.reported = s.now
			d.Lost = append(d.Lost, c.UID)
		}
		s.memory.lost[c.UID] = a
	}
}

// empty reports whether LKE lists a slot without an instance.
func (s *input) empty(slot string) bool {
	return slot != "" && slices.ContainsFunc(s.Pools, func(p Pool) bool { return slices.Contains(p.Slots, Slot{ID: slot}) })
}

// confirmGone records which released claims have no machine any more. The list must have been requested after the
// release, and nothing may be changing in the group.
func (s *input) confirmGone(d *Decision) {
	shrinking := map[string]bool{}
	for _, w := range d.Works {
		shrinking[w.Key] = len(w.DeleteSlots)+len(w.DeletePools) > 0
	}
	for _, c := range s.claims {
		if !c.released || !s.Asked.After(s.memory.released[c.UID]) {
			continue
		}
		key := c.Group.Key()
		if s.memory.moving(key, s.Asked) {
			continue
		}
		if c.Instance == 0 {
			s.memory.gone[c.UID] = !shrinking[key]
		} else {
			s.memory.gone[c.UID] = !s.mayBe(c)
		}
	}
}
