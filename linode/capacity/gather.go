package capacity

import (
	"cmp"
	"slices"
	"time"
)

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
		case c.released:
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

// closed ends the key of the pools that were changed so that they cannot hold nodes
// of the group in their tag any more. They get no new nodes; of their nodes the
// unowned ones are deleted, and the others drift.
const closed = " closed"

// home is the key of the group that a pool counts for. A pool whose tag was removed
// is recognized by its nodes.
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
		if claim.released {
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

// remember records since when slots are unowned and without an instance.
func (g *group) remember(old Memory, memory *Memory, now time.Time) {
	for _, s := range slices.Concat(g.ready, g.empty) {
		memory.unownedSince[s.ID] = earlier(old.unownedSince, s.ID, now)
	}
	for _, s := range g.empty {
		memory.emptySince[s.ID] = earlier(old.emptySince, s.ID, now)
	}
}

func earlier(since map[string]time.Time, id string, now time.Time) time.Time {
	if t, ok := since[id]; ok {
		return t
	}
	return now
}
