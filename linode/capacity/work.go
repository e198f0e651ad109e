package capacity

import (
	"slices"
	"time"
)

// Work is what to ask of LKE for one group, in this order.
type Work struct {
	Key         string
	Group       Group    // zero where only deletions are left to do
	Mends       []Mend   // corrections of pools
	Grow        []Grow   // of existing pools
	Create      []int    // counts of pools to make
	For         []string // claims that Grow and Create are for, oldest first
	DeleteSlots []string
	DeletePools []int
	// Starved claims wait for slots that got no instance in time. The slots are in
	// DeleteSlots; the plan type must not be chosen for a while.
	Starved []string
}

// Grow raises the count of a pool.
type Grow struct {
	Pool  int
	Count int // the new count
	By    int // how much more that is
}

func (w Work) idle() bool {
	return len(w.Mends)+len(w.Grow)+len(w.Create)+len(w.DeleteSlots)+len(w.DeletePools)+len(w.Starved) == 0
}

// decide binds what it can and returns the rest as work for LKE.
func (g *group) decide(d *Decision, policy Policy, now time.Time) Work {
	work := Work{Key: g.key, Group: g.spec, DeleteSlots: g.release}
	g.bind(d)
	g.starve(d, &work, policy, now)
	d.Waiting = d.Waiting || len(g.demand) > 0
	switch missing := len(g.demand) - len(g.ready) - len(g.empty) - g.hidden; {
	case missing > 0:
		for _, c := range g.demand[len(g.demand)-missing:] {
			work.For = append(work.For, c.UID)
		}
		g.grow(&work, missing, policy.PoolSize)
	case missing < 0:
		g.shrink(d.Memory, &work, -missing, policy, now)
	}
	if len(work.Grow)+len(work.Create) == 0 {
		g.wholePools(&work)
	}
	return work
}

func (g *group) bind(d *Decision) {
	n := min(len(g.demand), len(g.ready))
	for i := range n {
		d.Binds = append(d.Binds, Bind{Key: g.key, UID: g.demand[i].UID, Instance: g.ready[i].Instance})
		delete(d.Memory.unownedSince, g.ready[i].ID)
	}
	g.demand, g.ready = g.demand[n:], g.ready[n:]
}

// starve gives up slots that got no instance in time, and with each of them the
// youngest claim that waits.
func (g *group) starve(d *Decision, work *Work, policy Policy, now time.Time) {
	var patient []Slot
	for _, s := range g.empty {
		if now.Sub(d.Memory.emptySince[s.ID]) < policy.SlotTimeout {
			patient = append(patient, s)
			continue
		}
		work.DeleteSlots = append(work.DeleteSlots, s.ID)
		if last := len(g.demand) - 1; last >= 0 {
			work.Starved = append(work.Starved, g.demand[last].UID)
			g.demand = g.demand[:last]
		}
	}
	g.empty = patient
}

// grow raises counts, lowest pool first, and makes new pools for the rest.
func (g *group) grow(work *Work, missing, size int) {
	for _, p := range g.pools {
		room := min(missing, size-p.Count)
		if room <= 0 {
			continue
		}
		work.Grow = append(work.Grow, Grow{Pool: p.ID, Count: p.Count + room, By: room})
		missing -= room
	}
	for missing > 0 {
		n := min(missing, size)
		work.Create = append(work.Create, n)
		missing -= n
	}
}

// shrink deletes unowned slots that nobody waits for: as many as claims were
// cancelled at once, the others when their grace period is over. Slots without
// an instance go first: they cost nothing yet.
func (g *group) shrink(memory Memory, work *Work, surplus int, policy Policy, now time.Time) {
	atOnce := g.cancelled
	for _, s := range slices.Concat(g.empty, g.ready) {
		if surplus == 0 {
			return
		}
		overdue := now.Sub(memory.unownedSince[s.ID]) >= policy.Grace
		if !overdue && atOnce == 0 {
			continue
		}
		if !overdue {
			atOnce--
		}
		work.DeleteSlots = append(work.DeleteSlots, s.ID)
		surplus--
	}
}

// wholePools replaces the deletion of every slot of a pool by the deletion of
// the pool. LKE keeps no empty pools, so the last slot cannot go by itself. Pools
// that are not ours stay.
func (g *group) wholePools(work *Work) {
	if g.key == "" {
		return
	}
	for _, p := range g.pools {
		stays := func(s Slot) bool { return !slices.Contains(work.DeleteSlots, s.ID) }
		if p.hidden() > 0 || slices.ContainsFunc(p.Slots, stays) {
			continue
		}
		work.DeletePools = append(work.DeletePools, p.ID)
		work.DeleteSlots = slices.DeleteFunc(work.DeleteSlots, func(id string) bool {
			return slices.ContainsFunc(p.Slots, func(s Slot) bool { return s.ID == id })
		})
	}
}
