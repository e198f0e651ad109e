package capacity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world plays LKE and the API server for Decide, one step at a time.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	claims map[string]*Claim
	pools  map[int]*Pool
	memory Memory
	nextID int
	policy Policy

	underway []Work // begun, and not carried out yet
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: now,
		claims: map[string]*Claim{}, pools: map[int]*Pool{},
		policy: Policy{Grace: time.Minute, SlotTimeout: 4 * time.Minute, PoolSize: 7},
	}
}

func (w *world) id() int { w.nextID++; return w.nextID }

// decide decides on the world as it is and carries the decision out, now or later;
// each call to LKE may fail before or after it was carried out.
func (w *world) decide(faults bool) {
	claims := make([]Claim, 0, len(w.claims))
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		claims = append(claims, *w.claims[uid])
		if w.claims[uid].released {
			w.memory.Release(uid, w.now)
		}
	}
	pools := make([]Pool, 0, len(w.pools))
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		p := *w.pools[id]
		p.Slots = slices.Clone(p.Slots)
		pools = append(pools, p)
	}
	d := Decide(View{Claims: claims, Pools: pools, Asked: w.now}, w.memory, w.policy, w.now)
	w.memory = d.Memory
	for _, b := range d.Binds {
		w.bind(b)
	}
	for _, work := range d.Works {
		if slices.ContainsFunc(w.underway, func(other Work) bool { return other.Key == work.Key }) {
			w.t.Fatalf("a second work of group %s is begun", work.Key)
		}
		if faults && w.rng.IntN(3) == 0 {
			w.underway = append(w.underway, work)
		} else {
			w.carryOut(work, faults)
		}
	}
}

// land carries out all works that are under way.
func (w *world) land(faults bool) {
	for _, work := range w.underway {
		w.carryOut(work, faults)
	}
	w.underway = nil
}

func (w *world) bind(b Bind) {
	for _, c := range w.claims {
		if c.Instance == b.Instance {
			w.t.Fatalf("instance %d is bound to %s and to %s", b.Instance, c.UID, b.UID)
		}
	}
	w.claims[b.UID].Instance = b.Instance
	w.memory.Bound(b)
}

func (w *world) carryOut(work Work, faults bool) {
	defer func() { w.memory.Finish(work.Key, w.now) }()
	calls := []func(){}
	for _, m := range work.Mends {
		calls = append(calls, func() {
			p := w.pools[m.Pool]
			p.Group, p.Tags, p.Labels = m.Group.Key(), m.Group.Tags, m.Group.Labels
			p.Taints, p.Autoscaled = m.Group.Taints, false
		})
	}
	for _, g := range work.Grow {
		calls = append(calls, func() { w.resize(w.pools[g.Pool], g.Count) })
	}
	for _, n := range work.Create {
		calls = append(calls, func() {
			p := &Pool{ID: w.id(), Group: work.Key, Traits: traits(work.Group)}
			w.pools[p.ID] = p
			w.resize(p, n)
		})
	}
	for _, s := range work.DeleteSlots {
		calls = append(calls, func() { w.deleteSlot(s) })
	}
	for _, p := range work.DeletePools {
		calls = append(calls, func() {
			for _, s := range w.pools[p].Slots {
				w.mayGo(s)
			}
			delete(w.pools, p)
		})
	}
	for _, uid := range work.Starved {
		if c := w.claims[uid]; c != nil {
			c.Leaving, c.released = true, true
		}
	}
	for _, call := range calls {
		switch fault := w.rng.IntN(6); {
		case faults && fault == 0:
			// Refused: this call and the rest do not happen.
			w.memory.GrowthFailed(work.Key)
			w.memory.Hold(work.Key, w.now.Add(5*time.Second))
			return
		case faults && fault == 1:
			call() // the answer is lost: the rest does not happen
			return
		}
		call()
	}
}

func (w *world) resize(p *Pool, count int) {
	if count < p.Count {
		w.t.Fatalf("the count of pool %d was lowered from %d to %d: LKE would pick the victims", p.ID, p.Count, count)
	}
	if count > w.policy.PoolSize {
		w.t.Fatalf("pool %d was grown to %d, past the limit of %d", p.ID, count, w.policy.PoolSize)
	}
	for range count - p.Count {
		p.Slots = append(p.Slots, Slot{ID: fmt.Sprintf("%d-%04d", p.ID, w.id())})
	}
	p.Count = count
}

func (w *world) deleteSlot(id string) {
	for _, p := range w.pools {
		i := slices.IndexFunc(p.Slots, func(s Slot) bool { return s.ID == id })
		if i < 0 {
			continue
		}
		w.mayGo(p.Slots[i])
		p.Slots = slices.Delete(p.Slots, i, i+1)
		p.Count--
		if p.Count == 0 {
			delete(w.pools, p.ID)
		}
	}
}

// mayGo fails the test when a slot goes that a claim still needs.
func (w *world) mayGo(s Slot) {
	for _, c := range w.claims {
		if s.Instance != 0 && c.Instance == s.Instance && !c.released {
			w.t.Fatalf("slot %s was deleted under claim %s", s.ID, c.UID)
		}
	}
}

// provision gives some slots their instances.
func (w *world) provision(chance float64) {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		for i := range w.pools[id].Slots {
			if s := &w.pools[id].Slots[i]; s.Instance == 0 && w.rng.Float64() < chance {
				s.Instance = w.id()
			}
		}
	}
}

// finish drops released claims whose machine is gone, as Karpenter does after
// NotFound.
func (w *world) finish() {
	for uid, c := range w.claims {
		gone := c.released
		for _, p := range w.pools {
			gone = gone && (c.Instance == 0 || !slices.ContainsFunc(p.Slots,
				func(s Slot) bool { return s.Instance == c.Instance }))
		}
		if gone {
			delete(w.claims, uid)
		}
	}
}

// traits are those of a pool that was made for a group.
func traits(g Group) Traits {
	return Traits{Plan: g.Plan, Labels: g.Labels, Taints: g.Taints, Tags: g.Tags, Version: g.Version}
}

// edit changes some pool as a person can in Cloud Manager.
func (w *world) edit() {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		p := w.pools[id]
		switch w.rng.IntN(12) {
		case 0:
			p.Tags = []string{"by-hand"}
		case 1: // of a pool that holds what is nobody's, nobody could know it
			if w.owns(p) {
				p.Group = ""
			}
		case 2:
			p.Labels = map[string]string{"by": "hand"}
		case 3:
			p.Taints = nil
		case 4:
			p.Autoscaled = true
		case 5:
			p.Version = "v1.99.0"
		case 6:
			if len(p.Slots) > 1 { // LKE picks the victim
				i := w.rng.IntN(len(p.Slots))
				p.Slots = slices.Delete(p.Slots, i, i+1)
				p.Count--
			}
		case 7:
			if p.Group != "" {
				w.resize(p, max(p.Count, min(p.Count+2, w.policy.PoolSize)))
			}
		}
	}
}

// owns reports whether each slot of a pool is some claim's.
func (w *world) owns(p *Pool) bool {
	for _, s := range p.Slots {
		owned := false
		for _, c := range w.claims {
			owned = owned || c.Instance != 0 && c.Instance == s.Instance && !c.Leaving
		}
		if !owned {
			return false
		}
	}
	return true
}

// roll lets claims go as Karpenter does that have lost their machine, or whose
// pool is not what their group asks for.
func (w *world) roll() {
	for _, c := range w.claims {
		kept := c.Instance == 0
		for _, p := range w.pools {
			kept = kept || c.Group.CanHold(p.Traits) &&
				slices.ContainsFunc(p.Slots, func(s Slot) bool { return s.Instance == c.Instance })
		}
		if !kept {
			c.Leaving, c.released = true, true
		}
	}
}

// step does one random thing.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Second)
	groups := []Group{web, batch}
	uids := slices.Sorted(maps.Keys(w.claims))
	switch w.rng.IntN(13) {
	case 10:
		w.land(true) // an edit that a call under way overtakes is lost, as on LKE
		w.edit()
	case 0, 1, 2:
		for range 1 + w.rng.IntN(5) {
			uid := fmt.Sprintf("c%04d", w.id())
			w.claims[uid] = &Claim{UID: uid, Group: groups[w.rng.IntN(2)], Created: w.now}
		}
	case 3, 4:
		if len(uids) > 0 {
			c := w.claims[uids[w.rng.IntN(len(uids))]]
			c.Leaving, c.released = true, c.released || w.rng.IntN(2) == 0
		}
	case 5:
		w.provision(0.5)
	case 6:
		w.land(true)
		w.memory = Memory{} // the controller restarts
	case 7:
		w.finish()
	case 8:
		w.land(true)
	default:
		w.decide(true)
	}
}

// settle lets everything that was asked for happen without faults.
func (w *world) settle() {
	w.land(false)
	for _, c := range w.claims {
		c.released = c.Leaving || c.released
	}
	w.memory = Memory{}
	for range 8 {
		w.roll()
		w.decide(false)
		w.provision(1)
		w.finish()
		w.now = w.now.Add(w.policy.Grace)
	}
}

// TestEveryClaimGetsOneMachineAndNothingIsLeft: whatever happened before, in
// the end each claim has an instance of its own and no slot is without a claim.
func TestEveryClaimGetsOneMachineAndNothingIsLeft(t *testing.T) {
	for seed := range uint64(500) {
		w := newWorld(t, seed)
		for range 80 {
			w.step()
		}
		w.settle()
		owned := map[int]bool{}
		for uid, c := range w.claims {
			if c.Instance == 0 || owned[c.Instance] {
				t.Fatalf("seed %d: claim %s has instance %d, which is none or another's", seed, uid, c.Instance)
			}
			owned[c.Instance] = true
		}
		for _, p := range w.pools {
			for _, g := range []Group{web, batch} {
				if fields := g.outOfStep(p.Traits); p.Group == g.Key() && len(fields) > 0 {
					t.Fatalf("seed %d: pool %d is out of step: %v", seed, p.ID, fields)
				}
			}
			for _, s := range p.Slots {
				if !owned[s.Instance] {
					t.Fatalf("seed %d: slot %s is nobody's and still there", seed, s.ID)
				}
				delete(owned, s.Instance)
			}
		}
		if len(owned) > 0 {
			t.Fatalf("seed %d: claims hold instances that are not there: %v", seed, owned)
		}
	}
}
