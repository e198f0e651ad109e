// Package capacity decides what to ask of LKE so that each NodeClaim gets one
// machine and no machine is left without one.
//
// It is pure: claims, pools and the time go in, actions come out. It knows no
// client, no clock, no Karpenter type, and keeps nothing between calls but the
// Memory that it hands back.
//
// The rules, for each group of interchangeable slots:
//
//	owned    a slot whose instance is some claim's machine
//	demand   claims without a machine
//	supply   slots that nobody owns: with an instance, without one yet, or
//	         counted by LKE but not listed yet
//
//	bind     a claim of the demand takes an unowned slot with an instance
//	grow     demand above supply: one call that raises one pool's count
//	shrink   a released claim's slot goes at once; supply above demand goes
//	         when it stayed unowned for a grace period
package capacity

import (
	"cmp"
	"slices"
	"time"
)

// Claim is a NodeClaim, as far as capacity goes.
type Claim struct {
	UID      string
	Group    Group
	Instance int       // the Linode that is its machine; 0 while it waits for one
	Created  time.Time // older claims are served first
	Leaving  bool      // it is being deleted: it asks for nothing
	Released bool      // it is being deleted and drained: its machine may go
}

// Pool is an LKE node pool.
type Pool struct {
	ID    int
	Group string // key of the group it is tagged with; "" where it is not ours
	Count int
	Slots []Slot
	Traits
}

// hidden is the number of slots that LKE counts and does not list yet, as on
// Enterprise for the first minute.
func (p Pool) hidden() int { return max(0, p.Count-len(p.Slots)) }

// Slot is a place for a node in a pool.
type Slot struct {
	ID       string
	Instance int // 0: no Linode yet
}

// Policy holds the numbers that Decide goes by.
type Policy struct {
	Grace       time.Duration // how long a slot may stay unowned
	SlotTimeout time.Duration // how long a slot may stay without an instance
	PoolSize    int           // nodes in a pool: 100 on standard, 500 on Enterprise
}

// Memory is what Decide has to know of earlier calls. Losing it, in a restart,
// only makes it more patient.
type Memory struct {
	UnownedSince map[string]time.Time // by slot id
	EmptySince   map[string]time.Time // by slot id, of slots without an instance
	Mended       map[int]Try          // by pool id
	Lost         map[string]bool      // claims that were said to have lost their machine
}

// Decision is what to do now.
type Decision struct {
	Binds  []Bind
	Works  []Work // at most one for each group, sorted by group
	Memory Memory
	Lost   []string // claims whose machine LKE does not have any more, said once
	// Waiting says that a claim waits for a slot or an instance: look again
	// soon.
	Waiting bool
}

// Bind gives a claim its machine.
type Bind struct {
	Key      string // of the group
	UID      string
	Instance int
}

// Work is what to ask of LKE for one group, in this order.
type Work struct {
	Key         string
	Group       Group    // zero where only deletions are left to do
	Mends       []Mend   // pools to put right
	Grow        []Grow   // of pools that are there
	Create      []int    // counts of pools to make
	For         []string // claims that Grow and Create are for, oldest first
	DeleteSlots []string
	DeletePools []int
	// Starved claims wait for slots that got no instance in time. The slots
	// are in DeleteSlots; the plan is to be avoided for a while.
	Starved []string
}

// Grow raises the count of a pool.
type Grow struct {
	Pool  int
	Count int // the new count
	By    int // how much more that is
}

// Decide compares claims with pools. Slots and claims of groups that the
// caller knows to be in motion must be decided on again when they have come to
// rest; the caller drops the Work of such groups.
func Decide(claims []Claim, pools []Pool, memory Memory, policy Policy, now time.Time) Decision {
	owner := make(map[int]Claim, len(claims))
	for _, c := range claims {
		if c.Instance != 0 {
			owner[c.Instance] = c
		}
	}
	d := Decision{Memory: Memory{
		UnownedSince: map[string]time.Time{}, EmptySince: map[string]time.Time{}, Mended: map[int]Try{}, Lost: map[string]bool{},
	}}
	groups := gather(claims, pools, owner)
	for _, g := range groups {
		g.remember(memory, &d.Memory, now)
		work := g.decide(&d, policy, now)
		g.mend(memory, &d.Memory, &work, now)
		if !work.idle() {
			d.Works = append(d.Works, work)
		}
	}
	d.lose(claims, pools, memory)
	return d
}

// lose finds claims whose machine is in no slot. While LKE does not list all
// slots it may be in one of those.
func (d *Decision) lose(claims []Claim, pools []Pool, old Memory) {
	there := map[int]bool{}
	for _, p := range pools {
		if p.hidden() > 0 {
			d.Memory.Lost = old.Lost
			return
		}
		for _, s := range p.Slots {
			there[s.Instance] = true
		}
	}
	for _, c := range claims {
		if c.Instance == 0 || c.Leaving || there[c.Instance] {
			continue
		}
		if !old.Lost[c.UID] {
			d.Lost = append(d.Lost, c.UID)
		}
		d.Memory.Lost[c.UID] = true
	}
}

func (w Work) idle() bool {
	return len(w.Mends)+len(w.Grow)+len(w.Create)+len(w.DeleteSlots)+len(w.DeletePools)+len(w.Starved) == 0
}

// group is one group's share of claims and slots.
type group struct {
	key       string
	spec      Group // as the youngest claim has it
	youngest  Claim
	pools     []Pool
	demand    []Claim // without a machine, oldest first
	cancelled int     // claims that were released before they got a machine
	ready     []Slot  // unowned, with an instance
	empty     []Slot  // unowned, without one
	hidden    int
	release   []string // slots of released claims
}

// gather sorts claims and slots into groups, in the order of their keys. Slots
// of pools that are not ours count only where a claim owns them.
func gather(claims []Claim, pools []Pool, owner map[int]Claim) []*group {
	byKey := map[string]*group{}
	at := func(key string) *group {
		if byKey[key] == nil {
			byKey[key] = &group{key: key}
		}
		return byKey[key]
	}
	for _, c := range claims {
		g := at(c.Group.Key())
		if g.spec.Plan == "" || older(g.youngest, c) < 0 {
			g.spec, g.youngest = c.Group, c
		}
		switch {
		case c.Instance != 0:
		case c.Released:
			g.cancelled++
		case !c.Leaving:
			g.demand = append(g.demand, c)
		}
	}
	for _, p := range pools {
		g := at(home(p, byKey, owner))
		g.pools = append(g.pools, p)
		if p.Group != "" {
			g.hidden += p.hidden()
		}
		for _, s := range p.Slots {
			g.place(p, s, owner)
		}
	}
	groups := make([]*group, 0, len(byKey))
	for _, g := range byKey {
		slices.SortFunc(g.demand, older)
		slices.SortFunc(g.pools, func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
		slices.SortFunc(g.ready, bySlotID)
		slices.SortFunc(g.empty, bySlotID)
		slices.Sort(g.release)
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.key, b.key) })
	return groups
}

// closed marks, in its key, a group of pools that were changed so that they can
// hold no more nodes of the group that they are tagged with. They get no new
// nodes; those of their nodes that nobody owns go, the others drift.
const closed = " closed"

// home is the key of the group that a pool counts for. A pool whose tag was
// taken away is known by its nodes.
func home(p Pool, groups map[string]*group, owner map[int]Claim) string {
	if p.Group != "" {
		if g := groups[p.Group]; g != nil && g.spec.Plan != "" && p.Plan != "" && !g.spec.CanHold(p.Traits) {
			return p.Group + closed
		}
		return p.Group
	}
	for _, s := range p.Slots {
		if c, owned := owner[s.Instance]; owned && s.Instance != 0 && c.Group.Plan != "" && c.Group.CanHold(p.Traits) {
			return c.Group.Key()
		}
	}
	return ""
}

func older(a, b Claim) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) }

func bySlotID(a, b Slot) int { return cmp.Compare(a.ID, b.ID) }

// place files one slot of a pool.
func (g *group) place(p Pool, s Slot, owner map[int]Claim) {
	if claim, owned := owner[s.Instance]; owned && s.Instance != 0 {
		if claim.Released {
			g.release = append(g.release, s.ID)
		}
		return
	}
	switch {
	case p.Group == "":
	case s.Instance == 0:
		g.empty = append(g.empty, s)
	default:
		g.ready = append(g.ready, s)
	}
}

// remember carries over since when slots are unowned and without an instance.
func (g *group) remember(old Memory, memory *Memory, now time.Time) {
	for _, s := range slices.Concat(g.ready, g.empty) {
		memory.UnownedSince[s.ID] = earlier(old.UnownedSince, s.ID, now)
	}
	for _, s := range g.empty {
		memory.EmptySince[s.ID] = earlier(old.EmptySince, s.ID, now)
	}
}

func earlier(since map[string]time.Time, id string, now time.Time) time.Time {
	if t, ok := since[id]; ok {
		return t
	}
	return now
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
		delete(d.Memory.UnownedSince, g.ready[i].ID)
	}
	g.demand, g.ready = g.demand[n:], g.ready[n:]
}

// starve gives up slots that got no instance in time, and with each of them
// the youngest claim that waits.
func (g *group) starve(d *Decision, work *Work, policy Policy, now time.Time) {
	var patient []Slot
	for _, s := range g.empty {
		if now.Sub(d.Memory.EmptySince[s.ID]) < policy.SlotTimeout {
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
		overdue := now.Sub(memory.UnownedSince[s.ID]) >= policy.Grace
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
// the pool. LKE keeps no empty pools, so the last slot cannot go alone. Pools
// that are not ours are left standing with what else is in them.
func (g *group) wholePools(work *Work) {
	if g.key == "" {
		return
	}
	for _, p := range g.pools {
		if p.hidden() > 0 || !containsAll(work.DeleteSlots, p.Slots) {
			continue
		}
		work.DeletePools = append(work.DeletePools, p.ID)
		work.DeleteSlots = slices.DeleteFunc(work.DeleteSlots, func(id string) bool {
			return slices.ContainsFunc(p.Slots, func(s Slot) bool { return s.ID == id })
		})
	}
}

func containsAll(ids []string, slots []Slot) bool {
	for _, s := range slots {
		if !slices.Contains(ids, s.ID) {
			return false
		}
	}
	return true
}
