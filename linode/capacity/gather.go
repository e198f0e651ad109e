package capacity

import (
	"cmp"
	"slices"
	"time"
)

// input is the input of one decision: the view, together with what Memory knows of it.
type input struct {
	View
	claims []Claim         // completed with what Memory knows
	owner  map[int]Claim   // by instance
	listed map[int]bool    // instances that the view lists
	living map[string]bool // slots whose Node is ready, or is not ready because its host is under maintenance
	memory *Memory         // the Memory of the next decision
	policy Policy
	now    time.Time

	listedLate map[int]time.Time // by pool, for pools that list slots that were hidden: their slots were requested no earlier than this
}

// group is one group's share of claims and slots.
type group struct {
	key         string
	spec        Group // as the youngest claim describes it
	shape       Group // for a closed group: the properties of its pools when they were created
	youngest    Claim
	pools       []Pool
	demand      []Claim  // claims without a machine, oldest first
	cancelled   int      // claims that were released before they got a machine
	ready       []Slot   // unowned, with an instance
	empty       []Slot   // unowned, without an instance
	inhabited   []Slot   // unowned, with a registered Node
	deleting    []Slot   // unowned, and possibly being deleted
	hidden      int      // number of slots that are counted and not listed yet
	neverListed []Pool   // with slots that were never listed
	release     []string // slots of released claims, which can be deleted
	undrained   []Slot   // slots of released claims whose Node still exists and is not drained
}

// gather sorts claims and slots into groups, in the order of their keys, and records since when each claim asks. Slots
// of pools that are not ours count only if a claim owns them.
func (s *input) gather(old Memory) []*group {
	byKey := map[string]*group{}
	at := func(key string) *group {
		if byKey[key] == nil {
			byKey[key] = &group{key: key}
		}
		return byKey[key]
	}
	for _, c := range s.claims {
		g := at(c.Group.Key())
		if g.spec.Plan == "" || compareAge(g.youngest, c) < 0 {
			g.spec, g.youngest = c.Group, c
		}
		switch {
		case c.Instance != 0:
		case c.released:
			g.cancelled++
		case !c.Leaving:
			g.demand = append(g.demand, c)
			a := old.asking[c.UID]
			if a.key != g.key {
				a = asking{key: g.key, since: s.now}
			}
			s.memory.asking[c.UID] = a
		}
	}
	for _, p := range s.Pools {
		g := at(s.groupKey(p, byKey))
		g.pools = append(g.pools, p)
		if g.key == p.Group+closed {
			g.shape = byKey[p.Group].spec
		}
		if p.Group != "" && !s.memory.calls.pools[p.ID].mayGo(s.now) {
			g.hidden += s.fresh(p)
			if s.overdue(p) > 0 {
				g.neverListed = append(g.neverListed, p)
			}
		}
		for _, slot := range p.Slots {
			g.place(s, p, slot)
		}
	}
	groups := make([]*group, 0, len(byKey))
	for _, g := range byKey {
		g.sort()
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.key, b.key) })
	return groups
}

func (g *group) sort() {
	slices.SortFunc(g.demand, compareAge)
	slices.SortFunc(g.pools, func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	for _, slots := range [][]Slot{g.ready, g.empty, g.inhabited} {
		slices.SortFunc(slots, func(a, b Slot) int { return cmp.Compare(a.ID, b.ID) })
	}
	slices.Sort(g.release)
}

// closed is the suffix of the group's key for pools that were changed so that new nodes would not match the group
// in their tag. Such pools get no nodes, and their unowned nodes are deleted, until the pools are corrected. If
// they cannot be corrected, their nodes drift.
const closed = " closed"

// groupKey returns the key of the group that a pool belongs to. A pool whose tag was removed is recognized by its
// nodes.
func (s *input) groupKey(p Pool, groups map[string]*group) string {
	if p.Group != "" {
		if g := groups[p.Group]; g != nil && g.spec.Plan != "" && p.Plan != "" && !g.spec.CanHold(p.Traits) {
			return p.Group + closed
		}
		return p.Group
	}
	for _, slot := range p.Slots {
		c, owned := s.owner[slot.Instance]
		if owned && slot.Instance != 0 && c.Group.Plan != "" && c.Group.CanHold(p.Traits) {
			return c.Group.Key()
		}
	}
	return ""
}

func compareAge(a, b Claim) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

// place adds one slot of a pool to the group.
func (g *group) place(s *input, p Pool, slot Slot) {
	asked := &s.memory.calls
	going := asked.pools[p.ID].mayGo(s.now) // the slot would be deleted with its pool
	mayAsk := !going && asked.slots[slot.ID].mayAsk(s.now)
	if claim, owned := s.owner[slot.Instance]; owned && slot.Instance != 0 {
		// Karpenter drains the Node of a claim before it releases the machine, except for a claim whose provider id
		// was overwritten.
		switch n, inhabited := s.Nodes[slot.Instance]; {
		case !claim.released:
		case inhabited && !n.Leaving:
			g.undrained = append(g.undrained, slot)
		case mayAsk:
			g.release = append(g.release, slot.ID)
		}
		return
	}
	_, inhabited := s.Nodes[slot.Instance]
	switch {
	case p.Group == "":
	case inhabited && slot.Instance != 0:
		g.inhabited = append(g.inhabited, slot)
	case slot.Instance == 0 && s.living[slot.ID]:
		// The list lacks the machine that the Node runs on.
	case !s.memory.noded[slot.Instance].IsZero():
		// The Node was drained, and a kubelet joins only once, so no claim can use the instance.
		g.deleting = append(g.deleting, slot)
		if mayAsk {
			g.release = append(g.release, slot.ID)
		}
	case going:
		g.deleting = append(g.deleting, slot)
	case asked.slots[slot.ID].mayGo(s.now):
		g.deleting = append(g.deleting, slot)
		if mayAsk {
			g.release = append(g.release, slot.ID)
		}
	case slot.Instance == 0:
		g.empty = append(g.empty, slot)
	default:
		g.ready = append(g.ready, slot)
	}
}

// remember records since when slots are unowned and without an instance.
func (g *group) remember(old Memory, memory *Memory, now time.Time) {
	for _, s := range slices.Concat(g.ready, g.empty, g.inhabited, g.deleting) {
		memory.unownedSince[s.ID] = sinceOr(old.unownedSince, s.ID, now)
		if s.Instance == 0 {
			memory.emptySince[s.ID] = sinceOr(old.emptySince, s.ID, now)
			memory.ended[s.ID] = old.ended[s.ID]
		}
	}
}

func sinceOr(since map[string]time.Time, id string, now time.Time) time.Time {
	if t, ok := since[id]; ok {
		return t
	}
	return now
}

// forgotten is how long an instance that had a Node is remembered although no list shows it.
const forgotten = time.Hour

// rememberNodes remembers which instances had a registered Node: while they are listed, and for at least an hour,
// because a list may lack some of them.
func (s *input) rememberNodes(old Memory) {
	for instance, n := range s.Nodes {
		s.living[n.Slot] = n.Slot != "" && !n.Leaving && (n.Ready || s.owner[instance].Maintained)
	}
	for instance := range s.Nodes {
		s.memory.noded[instance] = s.now
	}
	for instance, at := range old.noded {
		if _, there := s.Nodes[instance]; !there && (s.listed[instance] || s.now.Sub(at) < forgotten) {
			s.memory.noded[instance] = at
		}
	}
}
