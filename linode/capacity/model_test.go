package capacity

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// errand is a work that a process carries out, call by call.
type errand struct {
	Work
	epoch int
	calls []call
}

// call is one call of a work: apply has LKE do it, answer tells the process.
type call struct {
	grows  int
	apply  func(epoch int)
	skimp  func(epoch int) // does less, and says nothing of it
	answer func(o Outcome)
}

// decide decides on the world as it is shown, and begins what was decided.
func (w *world) decide() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		if w.claims[uid].released {
			w.memory.Release(uid, w.now)
		}
	}
	d := Decide(w.view(), w.memory, w.policy, w.now)
	w.memory = d.Memory
	for _, b := range d.Binds {
		w.bind(b)
	}
	for _, uid := range d.Lost {
		if c := w.claims[uid]; c != nil && !w.alive(c.Instance) {
			w.leave(c)
		} else if c != nil && c.Instance != 0 {
			w.t.Fatalf("claim %s was ended while its Linode %d lives", uid, c.Instance)
		}
	}
	for _, uid := range d.Offline {
		if c := w.claims[uid]; c != nil && c.Instance != 0 && !c.Leaving {
			if b := w.berthOf(c.Instance); c.Registered || b == nil || !b.dark || w.maintained(c.Instance) {
				w.t.Fatalf("claim %s was ended for its Linode %d, which is not offline, has maintenance or has had a Node", uid,
					c.Instance)
			}
			w.trouble++
			w.leave(c)
		}
	}
	for _, drain := range d.Drains {
		if c := w.ownerOf(drain.Instance); c != nil && !c.released {
			w.t.Fatalf("the Node of claim %s was deleted", c.UID)
		}
		delete(w.nodes, drain.Instance)
		w.drained[drain.Instance] = w.epoch
	}
	for _, work := range d.Works {
		w.begin(work)
	}
	w.carryOut(w.faults && w.rng.IntN(3) == 0)
}

func (w *world) begin(work Work) {
	for _, e := range w.underway {
		if e.Key == work.Key && e.epoch == w.epoch {
			w.t.Fatalf("a second work of group %s is begun", work.Key)
		}
	}
	for _, p := range w.pools {
		gone := func(b *berth) bool { return slices.Contains(work.DeleteSlots, b.ID) }
		if n := len(slices.DeleteFunc(slices.Clone(p.slots), gone)); n == 0 && len(p.slots) > 0 &&
			!slices.ContainsFunc(work.Grow, func(g Grow) bool { return g.Pool == p.ID }) {
			w.t.Fatalf("the last slots of pool %d are deleted, and not the pool", p.ID)
		}
	}
	e := &errand{Work: work, epoch: w.epoch}
	for _, m := range work.Corrections {
		e.calls = append(e.calls, call{apply: func(int) { w.correct(m) }, answer: func(Outcome) {}})
	}
	for _, g := range work.Grow {
		e.calls = append(e.calls, w.raising(g))
	}
	for _, n := range work.Create {
		e.calls = append(e.calls, w.making(work, n))
	}
	for _, s := range work.DeleteSlots {
		e.calls = append(e.calls, w.deletingSlot(s))
	}
	for _, p := range work.DeletePools {
		e.calls = append(e.calls, w.deletingPool(p))
	}
	w.blame(work.Unmade)
	w.fair(work)
	w.endSlots(work.Unserved)
	w.underway = append(w.underway, e)
}

func (w *world) correct(m Correction) {
	if p := w.pools[m.Pool]; p != nil {
		p.Group, p.Tags, p.Labels = m.Group.Key(), append(slices.Clone(m.Group.Tags), Mark), m.Group.PoolLabels()
		p.Taints, p.Autoscaled = m.Group.Taints, false
	}
}

func (w *world) raising(g Grow) call {
	to := func(count int) {
		if p := w.pools[g.Pool]; p != nil {
			w.resize(p, count)
		}
	}
	return call{
		grows: g.By, apply: func(int) { to(g.Count) },
		skimp: func(int) {
			if p := w.pools[g.Pool]; p != nil {
				to(max(len(p.slots), g.Count-1-w.rng.IntN(g.By)))
			}
		},
		answer: func(o Outcome) { w.memory.Grew(g, o, w.now) },
	}
}

func (w *world) making(work Work, n int) call {
	id := w.id()
	made := func(count int) {
		w.pools[id] = &place{Pool: Pool{ID: id, Group: work.Key, Traits: traits(work.Group)}}
		w.resize(w.pools[id], count)
	}
	return call{
		grows: n, apply: func(int) { made(n) }, skimp: func(int) { made(w.rng.IntN(n)) },
		answer: func(o Outcome) {
			if o == Done {
				w.memory.Made(work.Key, n, id, o, w.now)
			} else {
				w.memory.Made(work.Key, n, 0, o, w.now)
			}
		},
	}
}

func (w *world) deletingSlot(id string) call {
	return call{
		apply: func(epoch int) {
			for _, p := range w.pools {
				if i := slices.IndexFunc(p.slots, func(b *berth) bool { return b.ID == id }); i >= 0 {
					w.take(p, p.slots[i], epoch)
				}
			}
		},
		skimp:  func(int) {}, // or much later, see fate
		answer: func(o Outcome) { w.memory.SlotDeleted(id, o, w.now) },
	}
}

func (w *world) deletingPool(id int) call {
	return call{
		apply: func(epoch int) {
			if p := w.pools[id]; p != nil {
				for _, b := range slices.Clone(p.slots) {
					w.take(p, b, epoch)
				}
				delete(w.pools, id)
			}
		},
		skimp:  func(int) {},
		answer: func(o Outcome) { w.memory.PoolDeleted(id, o, w.now) },
	}
}

// carryOut makes the calls of all works that are under way, or some of them. Those of an
// earlier process reach no process.
func (w *world) carryOut(some bool) {
	var left []*errand
	for _, e := range w.underway {
		if some && w.rng.IntN(2) == 0 {
			left = append(left, e)
			continue
		}
		growing, failed := false, false
		for _, c := range e.calls {
			if c.grows > 0 {
				growing = true
			} else if failed {
				break // after failed growth nothing is deleted
			}
			o := w.send(e, c)
			failed = failed || c.grows > 0 && o != Done
		}
		if e.epoch == w.epoch {
			if growing && !failed {
				w.memory.Grown(e.Key)
			}
			w.memory.Finish(e.Key, w.now)
		}
	}
	w.underway = left
}

// send makes one call, in one of the ways in which that can go.
func (w *world) send(e *errand, c call) Outcome {
	w.writes++
	o, apply := Done, c.apply
	if w.faults {
		o, apply = w.fate(e, c)
	}
	if o != Done || apply == nil {
		w.trouble++
	}
	if apply != nil {
		apply(e.epoch)
	}
	if e.epoch != w.epoch {
		return o
	}
	c.answer(o)
	if c.grows > 0 && o != Done {
		if _, exhausted := w.memory.GrowthFailed(e.Key, c.grows, o, w.now); exhausted && o == NoStock {
			w.endSlots(e.For)
		}
	}
	return o
}

// fate is the outcome of a call as the process learns it, and what LKE does at once.
func (w *world) fate(e *errand, c call) (o Outcome, apply func(int)) {
	switch w.rng.IntN(16) {
	case 0:
		return Unknown, c.apply
	case 1:
		return Unknown, nil
	case 2, 3:
		w.late = append(w.late, late{
			at: w.now.Add(time.Duration(w.rng.IntN(119)) * time.Second), apply: c.apply, epoch: e.epoch,
		})
		return Unknown, nil
	case 4:
		return Busy, nil
	case 5:
		if c.grows > 0 {
			return []Outcome{Refused, NoRoom}[w.rng.IntN(2)], nil
		}
		return []Outcome{Refused, Locked}[w.rng.IntN(2)], nil
	case 6:
		if c.grows > 0 {
			return NoStock, nil
		}
	case 7:
		if c.skimp != nil {
			w.trouble++
			if c.grows == 0 && w.rng.IntN(2) == 0 { // LKE has confirmed it, and takes its time
				w.late = append(w.late, late{
					at: w.now.Add(time.Duration(60+w.rng.IntN(300)) * time.Second), apply: c.apply, epoch: e.epoch,
				})
			}
			return Done, c.skimp
		}
	}
	return Done, c.apply
}

// endSlots gives claims another plan type, or ends them where they allow no other.
func (w *world) endSlots(uids []string) {
	for _, uid := range uids {
		if c := w.claims[uid]; c != nil && c.Instance == 0 {
			if w.rng.IntN(2) == 0 {
				if other := "g6-dedicated-4"; c.Group.Plan != other {
					c.Group.Plan, w.asks[uid] = other, w.now
				}
			} else {
				w.leave(c)
			}
		}
	}
}

// step does one random thing.
func (w *world) step() {
	w.pass(time.Duration(w.rng.IntN(20)) * time.Second)
	groups := []Group{web, batch}
	uids := slices.Sorted(maps.Keys(w.claims))
	switch w.rng.IntN(19) {
	case 0, 1, 2:
		for range 1 + w.rng.IntN(5) {
			uid := fmt.Sprintf("c%06d", w.id())
			w.claims[uid] = &Claim{UID: uid, Group: groups[w.rng.IntN(2)], Created: w.now}
			w.asks[uid] = w.now
			w.made++
		}
	case 3, 4, 13:
		for range min(1+w.rng.IntN(5), len(uids)) {
			if c := w.claims[uids[w.rng.IntN(len(uids))]]; c != nil {
				w.end(c)
			}
		}
	case 5, 6:
		w.provision(0.5)
	case 7:
		w.restart()
	case 8:
		w.finish()
		if w.chance(3) {
			w.relabel(groups[w.rng.IntN(2)].NodePool)
		}
	case 9:
		w.carryOut(false)
	case 10:
		w.carryOut(false) // an edit that a call under way overtakes is lost, as on LKE
		w.trouble++
		w.edit()
	case 11:
		w.register()
		for _, id := range slices.Sorted(maps.Keys(w.pools)) {
			if w.chance(6) { // of a node that LKE still created, or of a pool of another owner
				w.fail(id)
			}
		}
	case 12:
		w.power()
		w.maintain()
		if w.chance(3) {
			w.blind = w.now.Add(time.Duration(w.rng.IntN(600)) * time.Second)
		}
	default:
		w.decide()
	}
}

// end has a claim go, or something worse happen to it.
func (w *world) end(c *Claim) {
	switch w.rng.IntN(12) {
	case 0: // a user removes the finalizers
		w.trouble++
		if w.tagged(c.Instance) {
			delete(w.claims, c.UID)
		}
	case 1: // a user restores an older state
		w.trouble++
		if !c.Leaving {
			c.Instance = 0
		}
	case 2:
		c.Leaving = true
	default:
		w.leave(c)
	}
}

// restart has another process lead, which knows nothing. The works of the last one may continue for a moment.
func (w *world) restart() {
	w.trouble++
	w.memory, w.cache, w.unmade = Memory{}, nil, map[string]time.Time{}
	w.epoch++
}

// converge carries out everything that was requested, without faults.
func (w *world) converge() {
	w.faults, w.policy.ClusterSize, w.blind = false, 0, time.Time{}
	w.carryOut(false)
	w.pass(time.Hour) // locks are asked about again
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		if c := w.claims[uid]; c.Leaving {
			w.leave(c)
		}
	}
	for range 90 {
		for instance, n := range w.nodes {
			if n.MayBeDeleted = true; w.ownerOf(instance) == nil {
				w.nodes[instance] = n
			}
		}
		w.roll()
		w.decide()
		w.provision(1)
		w.finish()
		w.pass(w.policy.Grace / 3)
	}
}

// atRest fails the test if a claim has no separate machine, or a machine no claim.
func (w *world) atRest() {
	owned := map[int]bool{}
	for uid, c := range w.claims {
		if c.Instance == 0 || owned[c.Instance] {
			w.t.Fatalf("claim %s has instance %d, which is none or another's", uid, c.Instance)
		}
		owned[c.Instance] = true
		if b := w.berthOf(c.Instance); b != nil && b.dark && !c.Registered {
			w.t.Fatalf("claim %s waits for its Linode %d, which stays offline", uid, c.Instance)
		}
	}
	for _, p := range w.pools {
		for _, g := range []Group{web, batch} {
			g.InPlace = w.inPlace[g.NodePool]
			if fields := g.outOfStep(p.Traits); p.Group == g.Key() && len(fields) > 0 {
				w.t.Fatalf("pool %d is out of step: %v", p.ID, fields)
			}
		}
		mine := 0
		for _, b := range p.slots {
			if p.ID == 900 || b.phantom {
				continue
			}
			if !owned[b.Instance] && p.Group != "" {
				w.t.Fatalf("slot %s has no owner and still exists", b.ID)
			}
			delete(owned, b.Instance)
			mine++
		}
		if mine == 0 && p.Group != "" { // without the tag, and without a claim, it is not ours
			w.t.Fatalf("pool %d has no machine of a claim and is still there", p.ID)
		}
	}
	if len(owned) > 0 {
		w.t.Fatalf("claims hold instances that are not there: %v", owned)
	}
}

// frugal fails the test where more calls were made than this: two for each claim, four for
// each thing that went wrong, and one a minute.
func (w *world) frugal() {
	most := 2*w.made + 4*w.trouble + int(w.now.Sub(now).Minutes())
	if w.writes > most {
		w.t.Fatalf("%d calls; %d claims, %d troubles and %s allow %d", w.writes, w.made, w.trouble, w.now.Sub(now), most)
	}
}

var firstSeed = flag.Int("seed", 0, "the seed of the model's first run")

var steps = flag.Int("steps", nightly.Or(16_000, 1_000_000), "how many steps the model takes; 1000000 takes some minutes")

// TestEveryClaimGetsOneMachineAndNothingIsLeft: after any sequence of faults - calls that come
// late, are lost, do less than they say, slots that are not listed or stay empty, events of LKE that are late, listed
// twice or about others, lists without
// machines that exist, machines that stay offline, or that a person switches off or on, machines whose hosts
// are maintained for up to an hour, machines that are
// recycled, restarts, two leaders - in the end each claim has an instance of its
// own and no slot is without a claim. No claim loses its machine by a call of ours, but
// for those of a process that has ended.
func TestEveryClaimGetsOneMachineAndNothingIsLeft(t *testing.T) {
	const each = 400
	robbed, restarts := 0, 0
	for seed := *firstSeed; seed < *firstSeed+*steps/each; seed++ {
		w := newWorld(t, uint64(seed))
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("-seed %d -steps %d", seed, each)
				}
			}()
			for range each {
				w.step()
			}
			w.converge()
			w.atRest()
			w.frugal()
		}()
		robbed, restarts = robbed+w.robbed, restarts+w.epoch
	}
	t.Logf("%d restarts cost %d machines", restarts, robbed)
}
