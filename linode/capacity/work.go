package capacity

import (
	"slices"
	"time"
)

// Work is the calls to make to LKE for one group, in this order.
type Work struct {
	Key         string
	Group       Group        // zero if only deletions are left
	Corrections []Correction // changes of pools in place
	Grow        []Grow       // of existing pools
	Create      []int        // node counts of pools to create
	For         []string     // claims without a slot, oldest first; Grow and Create are for the first of them
	DeleteSlots []string
	DeletePools []int
	// Unserved claims wait for machines that did not come in time, and do not get one. Their plan type must not be
	// chosen for a while.
	Unserved []string
	// Unmade are slots of these claims for which LKE has reported that it cannot create the node.
	Unmade []string
}

// Grow raises the count of a pool.
type Grow struct {
	Pool  int
	Count int // the new count
	By    int // the difference to the old count
}

// Served returns the claims that Grow and Create are for.
func (w Work) Served() []string {
	n := 0
	for _, g := range w.Grow {
		n += g.By
	}
	for _, count := range w.Create {
		n += count
	}
	return w.For[:min(n, len(w.For))]
}

func (w Work) idle() bool {
	return len(w.Corrections)+len(w.Grow)+len(w.Create)+len(w.DeleteSlots)+len(w.DeletePools)+len(w.Unserved) == 0
}

// deletionsAtOnce is the largest number of slots that one Work deletes, because the group does not grow until the
// Work has finished.
const deletionsAtOnce = 24

// decide binds machines, and returns the rest as work for LKE. It reduces room by the nodes that it requests.
func (g *group) decide(s *input, d *Decision, missed int, room *int) Work {
	work := Work{Key: g.key, Group: g.spec, DeleteSlots: g.release}
	g.bind(d, s.memory)
	g.endSlots(s, &work, missed)
	d.Waiting = d.Waiting || len(g.demand) > 0
	supply := len(g.ready) + len(g.empty) + g.hidden + s.memory.coming(g.key, g.pools, s.now)
	for _, c := range g.demand[:min(supply, len(g.demand))] {
		d.Granted = append(d.Granted, c.UID)
	}
	switch missing := len(g.demand) - supply; {
	case missing > 0:
		for _, c := range g.demand[supply:] {
			work.For = append(work.For, c.UID)
		}
		if missing > *room {
			d.Full = append(d.Full, work.For[*room:]...)
			work.For, missing = work.For[:*room], *room
		}
		if s.now.Before(s.memory.groups[g.key].hold) {
			work.For = nil
			break
		}
		*room -= missing
		g.grow(s, &work, missing)
	case missing < 0:
		g.shrink(s, &work, -missing)
	}
	g.wholePools(s, &work)
	work.DeleteSlots = work.DeleteSlots[:min(len(work.DeleteSlots), deletionsAtOnce)]
	return work
}

func (g *group) bind(d *Decision, m *Memory) {
	n := min(len(g.demand), len(g.ready))
	for i := range n {
		d.Binds = append(d.Binds, Bind{Key: g.key, UID: g.demand[i].UID, Instance: g.ready[i].Instance})
		m.assigned[g.demand[i].UID] = assignment{instance: g.ready[i].Instance, underway: true}
		delete(m.unownedSince, g.ready[i].ID)
	}
	g.demand, g.ready = g.demand[n:], g.ready[n:]
}

// endSlots gives up slots that got no instance in time, that LKE reported as failed, that were never listed, or
// that were granted and never counted. For each of them it ends, once, the youngest claim that has waited for at
// least the time that a slot may take. For a failure it ends the youngest of all claims, because a failure is about
// the plan type. Claims that have not waited as long, such as the one that replaces a lost machine while the empty
// slot is still listed, get another slot.
func (g *group) endSlots(s *input, work *Work, uncounted int) {
	var waiting []Slot
	overdue := 0
	for _, slot := range g.empty {
		unmade := s.memory.unmade[slot.ID]
		if !unmade && s.now.Sub(s.memory.emptySince[slot.ID]) < s.policy.SlotTimeout {
			waiting = append(waiting, slot)
			continue
		}
		if s.memory.calls.slots[slot.ID].mayAsk(s.now) {
			work.DeleteSlots = append(work.DeleteSlots, slot.ID)
		}
		if !s.memory.ended[slot.ID] && !s.memory.moving(g.key, s.Asked) {
			s.memory.ended[slot.ID] = true
			if unmade {
				work.Unmade = append(work.Unmade, slot.ID)
			} else {
				overdue++
			}
		}
	}
	g.empty = waiting
	if s.memory.moving(g.key, s.Asked) {
		return
	}
	for _, p := range g.neverListed {
		h := s.memory.hidden[p.ID]
		overdue += s.overdue(p) - h.ended
		h.ended = s.overdue(p)
		s.memory.hidden[p.ID] = h
	}
	g.endClaims(s, work, len(work.Unmade), 0)
	g.endClaims(s, work, overdue, s.policy.SlotTimeout)
	g.endClaims(s, work, uncounted, lateness)
	if len(work.Unserved) > 0 {
		m := s.memory.groups[g.key]
		m.hold = s.now.Add(replanned)
		s.memory.groups[g.key] = m
	}
}

// endClaims ends the n youngest claims that have waited for at least a time.
func (g *group) endClaims(s *input, work *Work, n int, waited time.Duration) {
	for i := len(g.demand) - 1; i >= 0 && n > 0; i-- {
		if c := g.demand[i]; s.now.Sub(s.memory.asking[c.UID].since) >= waited {
			work.Unserved = append(work.Unserved, c.UID)
			g.demand = slices.Delete(g.demand, i, i+1)
			n--
		}
	}
}

// shrink deletes unowned slots that no claim waits for: as many as claims were cancelled immediately, and the
// others when their grace period is over. Slots without an instance go first, because they cost nothing yet.
func (g *group) shrink(s *input, work *Work, surplus int) {
	atOnce := g.cancelled
	for _, slot := range slices.Concat(g.empty, g.ready) {
		if surplus == 0 {
			return
		}
		grace := s.policy.Keep
		if slot.Instance == 0 {
			grace = s.policy.Grace
		}
		overdue := s.now.Sub(s.memory.unownedSince[slot.ID]) >= grace
		if !overdue && atOnce == 0 || !s.memory.calls.slots[slot.ID].mayAsk(s.now) {
			continue
		}
		if !overdue {
			atOnce--
		}
		work.DeleteSlots = append(work.DeleteSlots, slot.ID)
		surplus--
	}
}

// wholePools deletes a pool at once, in place of each of its slots, if the pool does not grow. LKE keeps no empty
// pools, so the last slot cannot be deleted as a slot. A pool that is not lkeplan's is deleted if each of its slots
// belonged to a claim.
//
// Unverified: that to delete a pool is the same as to delete its last slot.
func (g *group) wholePools(s *input, work *Work) {
	for _, p := range g.pools {
		if slices.ContainsFunc(work.Grow, func(grows Grow) bool { return grows.Pool == p.ID }) {
			continue
		}
		if deletion := s.memory.calls.pools[p.ID]; deletion.mayGo(s.now) && deletion.mayAsk(s.now) {
			work.DeletePools = append(work.DeletePools, p.ID)
			continue
		}
		stays := func(slot Slot) bool { return !slices.Contains(work.DeleteSlots, slot.ID) }
		if s.fresh(p) > 0 || slices.ContainsFunc(p.Slots, stays) || p.Group == "" && (len(p.Slots) == 0 || p.hidden() > 0) {
			continue
		}
		work.DeleteSlots = slices.DeleteFunc(work.DeleteSlots, func(id string) bool {
			return slices.ContainsFunc(p.Slots, func(slot Slot) bool { return slot.ID == id })
		})
		if s.memory.calls.pools[p.ID].mayAsk(s.now) {
			work.DeletePools = append(work.DeletePools, p.ID)
		}
	}
}
