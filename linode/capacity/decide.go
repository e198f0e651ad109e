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
