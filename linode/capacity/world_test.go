package capacity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world plays LKE, Karpenter and the API server for Decide, one step at a time, with all
// that can go wrong between them.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	claims map[string]*Claim // as the API server stores them
	cache  []Claim           // as the process saw them last
	pools  map[int]*place
	nodes  map[int]Node
	memory Memory
	epoch  int // of the process
	nextID int
	policy Policy
	faults bool

	underway []*errand   // begun, and not carried out yet
	late     []late      // calls without an answer, which come later
	drained  map[int]int // instances whose Node was deleted, by the process that did it

	blind time.Time // until when lists lack the machines that Nodes run on

	ahead    time.Duration        // of our clock is LKE's
	viewed   time.Time            // when LKE was checked last
	failures []written            // events of LKE
	unmade   map[string]time.Time // slots that were ended for one, and when they were requested; of this process

	asks map[string]time.Time // since when each claim asks for a machine of its present plan type

	inPlace map[string]map[string]*string // the labels of each NodePool that change in place

	writes, made, trouble, robbed int
}

// place is a pool with what LKE knows of its slots.
type place struct {
	Pool
	slots []*berth
}

type berth struct {
	Slot
	listed  time.Time
	asked   time.Time // when LKE was checked last before it was requested, or lost its instance
	empty   bool      // the last view has shown it so
	phantom bool      // it is never listed
	barren  bool      // it gets no instance
	dark    bool      // its instance is offline
	away    time.Time // until when its host is maintained, and its instance is off
	vacant  bool      // meanwhile the slot of its Node shows no instance
}

// written is an event, and from when lists show it.
type written struct {
	Failure
	listed time.Time
}

// late is a call that LKE carries out some time after its answer was lost.
type late struct {
	at    time.Time
	apply func(epoch int)
	epoch int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: now, faults: true,
		claims: map[string]*Claim{}, pools: map[int]*place{}, nodes: map[int]Node{}, drained: map[int]int{}, unmade: map[string]time.Time{},
		asks:    map[string]time.Time{},
		inPlace: map[string]map[string]*string{},
		policy: Policy{
			Grace: time.Minute, Keep: 10 * time.Minute, SlotTimeout: 4 * time.Minute, PoolSize: 7, ClusterSize: 60,
		},
	}
	w.ahead = time.Duration(w.rng.IntN(7200)-3600) * time.Second
	// Another owner's pool, which never lists one of its nodes.
	w.pools[900] = &place{Pool: Pool{ID: 900}, slots: []*berth{{Slot: Slot{"900-a", 999_999}}, {phantom: true}}}
	return w
}

func (w *world) id() int { w.nextID++; return w.nextID }

// chance is true one time in n, while there are faults.
func (w *world) chance(n int) bool { return w.faults && w.rng.IntN(n) == 0 }

// pass lets time go by, and brings what comes late.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	var later []late
	for _, l := range w.late {
		if l.at.After(w.now) {
			later = append(later, l)
		} else {
			l.apply(l.epoch)
		}
	}
	w.late = later
}

// view is what LKE and the cache show.
func (w *world) view() View {
	if !w.chance(4) || w.cache == nil {
		w.cache = nil
		for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
			w.cache = append(w.cache, *w.claims[uid])
		}
	}
	w.viewed = w.now
	v := View{Claims: w.cache, Nodes: map[int]Node{}, Asked: w.now, Shown: w.now.Add(w.ahead)}
	if since, ask := w.memory.Doubts(w.now); ask && !w.chance(5) {
		v.Failures = w.listed(since)
	}
	for _, instance := range w.memory.Unjoined(w.now) {
		if b := w.berthOf(instance); b != nil && !w.chance(5) {
			put(&v.Offline, instance, b.dark || b.away.After(w.now))
		}
	}
	if w.chance(20) {
		v.Shown = time.Time{}
	}
	for instance, n := range w.nodes {
		n.Ready = w.alive(instance) && !w.maintained(instance)
		v.Nodes[instance] = n
	}
	v.Claims = slices.Clone(v.Claims)
	for i := range v.Claims {
		v.Claims[i].Maintained = w.maintained(v.Claims[i].Instance)
		v.Claims[i].Group.InPlace = w.inPlace[v.Claims[i].Group.NodePool]
	}
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		p := w.pools[id]
		shown := p.Pool
		shown.Count, shown.Slots = len(p.slots), nil
		for _, b := range p.slots {
			slot := b.Slot
			away := b.away.After(w.now)
			// Only a claim has maintenance.
			unknown := away && !slices.ContainsFunc(v.Claims, func(c Claim) bool { return c.Instance == b.Instance })
			if _, inhabited := w.nodes[b.Instance]; inhabited && !unknown && (b.vacant && away || w.blind.After(w.now)) {
				slot.Instance = 0
			}
			if !b.phantom && !b.listed.After(w.now) {
				shown.Slots = append(shown.Slots, slot)
			}
			b.empty = slot.Instance == 0
		}
		slices.SortFunc(shown.Slots, func(a, b Slot) int { return compareIDs(a.ID, b.ID) })
		v.Pools = append(v.Pools, shown)
	}
	return v
}

func compareIDs(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// bind writes a claim's machine as NodeClaims does: not where the claim has changed, or
// another has the machine. What was written may be said to have failed.
func (w *world) bind(b Bind) {
	c := w.claims[b.UID]
	if epoch, drained := w.drained[b.Instance]; drained && epoch == w.epoch {
		w.t.Fatalf("claim %s got instance %d, which was drained: its kubelet does not join again", b.UID, b.Instance)
	}
	if key := w.keyOf(b.Instance); key != b.Key && key != "" {
		w.t.Fatalf("claim %s got instance %d of another group", b.UID, b.Instance)
	}
	for _, other := range w.claims {
		if other.Instance == b.Instance && other.UID != b.UID {
			c = nil
		}
	}
	if c == nil || c.Instance != 0 || c.Group.Key() != b.Key || w.chance(20) {
		w.memory.Bound(b, w.now)
		return
	}
	c.Instance = b.Instance
	if w.chance(20) {
		w.memory.Bound(b, w.now)
		return
	}
	w.memory.Bound(b, w.now)
}

// keyOf is the tag of an instance's pool.
func (w *world) keyOf(instance int) string {
	for _, p := range w.pools {
		for _, b := range p.slots {
			if b.Instance == instance {
				return p.Group
			}
		}
	}
	return ""
}

// resize sets the count of a pool. If it is lower LKE picks the victims.
func (w *world) resize(p *place, count int) {
	if count > w.policy.PoolSize {
		w.t.Fatalf("pool %d was grown to %d, past the limit of %d", p.ID, count, w.policy.PoolSize)
	}
	for len(p.slots) > count {
		i := w.rng.IntN(len(p.slots))
		if c := w.ownerOf(p.slots[i].Instance); c != nil && !c.released {
			w.t.Fatalf("the count of pool %d was lowered to %d: LKE took the machine of %s", p.ID, count, c.UID)
		}
		p.slots = slices.Delete(p.slots, i, i+1)
	}
	for len(p.slots) < count {
		b := &berth{Slot: Slot{ID: fmt.Sprintf("%d-%06d", p.ID, w.id())}, listed: w.now, asked: w.viewed}
		if w.chance(3) {
			b.listed = w.now.Add(time.Duration(w.rng.IntN(60)) * time.Second)
		}
		b.phantom, b.barren = w.chance(40), w.chance(20)
		p.slots = append(p.slots, b)
		if b.barren && !w.chance(3) {
			w.fail(p.ID)
		}
	}
}

// fail has LKE write that it could not create a node of a pool, now or a moment later, which lists show at some time.
func (w *world) fail(pool int) {
	after := time.Duration(w.rng.IntN(60)) * time.Second
	w.late = append(w.late, late{at: w.now.Add(after), epoch: w.epoch, apply: func(int) {
		shown := time.Duration(w.rng.IntN(90)) * time.Second * time.Duration(w.rng.IntN(2))
		w.failures = append(w.failures, written{Failure{w.id(), pool, w.now.Add(w.ahead)}, w.now.Add(shown)})
	}})
}

// listed are the failures that LKE shows, in any order, some of them twice.
func (w *world) listed(since time.Time) (all []Failure) {
	for _, f := range w.failures {
		if f.At.Before(since) || f.listed.After(w.now) {
			continue
		}
		for range 1 + w.rng.IntN(2) {
			all = append(all, f.Failure)
		}
	}
	w.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// blame fails the test if more slots of a pool were ended for failures than LKE has reported, or one for an older
// failure.
func (w *world) blame(slots []string) {
	for id, p := range w.pools {
		mine := map[string]time.Time{}
		for _, b := range p.slots {
			if slices.Contains(slots, b.ID) {
				w.unmade[b.ID] = b.asked
				if b.Instance != 0 {
					w.t.Fatalf("slot %s was ended for a failure, and has instance %d", b.ID, b.Instance)
				}
			}
		}
		for slot, asked := range w.unmade {
			if poolOf(slot) == id {
				mine[slot] = asked
			}
		}
		for _, f := range w.failures { // in their order
			var last string
			for slot, asked := range mine {
				if f.Pool == id && !asked.After(f.At.Add(-w.ahead)) && (last == "" || asked.After(mine[last])) {
					last = slot
				}
			}
			delete(mine, last)
		}
		if len(mine) > 0 {
			w.t.Fatalf("slots of pool %d were ended for failures that LKE has not reported: %v", id, mine)
		}
	}
}

// fair fails the test if a claim is ended for the age of a slot or of a call that is older than its wait. Only what
// LKE has reported about the plan type ends claims that have just asked.
func (w *world) fair(work Work) {
	reported := len(work.Unmade)
	for _, uid := range work.Unserved {
		if c := w.claims[uid]; c == nil || c.Group.Key() != work.Key {
			continue // the process does not see yet that it has left or has another plan type
		}
		if waited := w.now.Sub(w.asks[uid]); waited < lateness {
			if reported--; reported < 0 {
				w.t.Fatalf("claim %s was ended after %s", uid, waited)
			}
		}
	}
}

func poolOf(slot string) (pool int) {
	fmt.Sscanf(slot, "%d-", &pool)
	return pool
}

func (w *world) ownerOf(instance int) *Claim {
	if instance != 0 {
		for _, c := range w.claims {
			if c.Instance == instance {
				return c
			}
		}
	}
	return nil
}

// take deletes a slot. A call of the last process may take the machine of a claim: that is
// what a restart can cost.
func (w *world) take(p *place, b *berth, epoch int) {
	if c := w.ownerOf(b.Instance); c != nil && !c.released {
		if epoch == w.epoch {
			w.t.Fatalf("slot %s was deleted under claim %s", b.ID, c.UID)
		}
		w.robbed++
	}
	if n, inhabited := w.nodes[b.Instance]; inhabited && epoch == w.epoch {
		w.t.Fatalf("slot %s was deleted with pods on its Node %s", b.ID, n.Name)
	}
	p.slots = slices.DeleteFunc(p.slots, func(other *berth) bool { return other == b })
}

// provision gives some slots their instances.
func (w *world) provision(chance float64) {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		for _, b := range w.pools[id].slots {
			barren := b.barren && w.faults
			if b.Instance == 0 && !b.phantom && !barren && w.rng.Float64() < chance {
				b.Instance, b.dark = w.id(), w.chance(12)
			}
		}
	}
}

// register has some machines of claims join as Nodes.
func (w *world) register() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		if c := w.claims[uid]; c.Instance != 0 && !c.Leaving && w.alive(c.Instance) && !w.berthOf(c.Instance).dark &&
			!w.maintained(c.Instance) && w.rng.IntN(2) == 0 {
			c.Registered = true
			w.nodes[c.Instance] = Node{Name: fmt.Sprint(c.Instance), NodePool: c.Group.NodePool, Slot: w.slotOf(c.Instance)}
		}
	}
}

func (w *world) alive(instance int) bool { return w.slotOf(instance) != "" }

// slotOf is the slot of an instance; "" if there is none.
func (w *world) slotOf(instance int) string {
	if b := w.berthOf(instance); b != nil {
		return b.ID
	}
	return ""
}

// berthOf is the same with what the world knows of it; nil if there is none.
func (w *world) berthOf(instance int) *berth {
	for _, p := range w.pools {
		for _, b := range p.slots {
			if instance != 0 && b.Instance == instance {
				return b
			}
		}
	}
	return nil
}

// power has a person switch some machines off or on.
func (w *world) power() {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		for _, b := range w.pools[id].slots {
			if w.chance(4) {
				b.dark = !b.dark
			}
		}
	}
}

// maintain starts maintenance of the hosts of some machines.
func (w *world) maintain() {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		for _, b := range w.pools[id].slots {
			if w.chance(4) {
				b.away, b.vacant = w.now.Add(time.Duration(w.rng.IntN(3600))*time.Second), w.rng.IntN(2) == 0
			}
		}
	}
}

// maintained reports whether the host of an instance is maintained, so that the instance is off.
func (w *world) maintained(instance int) bool {
	b := w.berthOf(instance)
	return b != nil && b.away.After(w.now)
}

// tagged reports whether the pool of an instance has its tag. If it has not, only the
// claim says whose the machine is.
func (w *world) tagged(instance int) bool {
	for _, p := range w.pools {
		for _, b := range p.slots {
			if instance != 0 && b.Instance == instance && p.Group == "" {
				return false
			}
		}
	}
	return true
}

// recycle replaces machines as LKE does: in their slots, or with new ones beside.
func (w *world) recycle(p *place) {
	for _, b := range slices.Clone(p.slots) {
		if b.Instance == 0 || w.rng.IntN(2) == 0 {
			continue
		}
		delete(w.nodes, b.Instance)
		b.away = time.Time{}
		if w.rng.IntN(2) == 0 {
			b.barren = w.chance(2)        // LKE leaves the slot empty
			if b.Instance = 0; !b.empty { // no view has shown that it was filled in between
				b.asked = w.viewed
			}
			continue
		}
		p.slots = slices.DeleteFunc(p.slots, func(other *berth) bool { return other == b })
		p.slots = append(p.slots, &berth{Slot: Slot{ID: fmt.Sprintf("%d-%06d", p.ID, w.id())}, listed: w.now, asked: w.viewed})
	}
}

// leave has a claim go as Karpenter does: its Node is drained before its machine may go.
func (w *world) leave(c *Claim) {
	c.Leaving, c.released = true, true
	delete(w.nodes, c.Instance)
}

// finish drops released claims whose machine is said to be gone, as Karpenter does after
// NotFound, and makes sure that it is.
func (w *world) finish() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[uid]
		if !c.released {
			continue
		}
		if _, gone := w.memory.Release(uid, w.now); gone {
			if w.alive(c.Instance) {
				w.t.Fatalf("claim %s was said to be gone, and Linode %d lives", uid, c.Instance)
			}
			delete(w.claims, uid)
		}
	}
}

// relabel changes a label of a NodePool in place, as a commit does: it sets another value, removes the label, or removes it
// from the list.
func (w *world) relabel(nodePool string) {
	value := fmt.Sprintf("v%d", w.id())
	w.inPlace[nodePool] = []map[string]*string{
		{"example.com/team": &value}, {"example.com/team": &value, "example.com/owner": &value},
		{"example.com/team": nil}, nil,
	}[w.rng.IntN(4)]
	w.trouble += len(w.pools)
}

// traits are those of a pool that was made for a group.
func traits(g Group) Traits {
	return Traits{Plan: g.Plan, Labels: g.PoolLabels(), Taints: g.Taints, Tags: append(slices.Clone(g.Tags), Mark), Version: g.Version}
}

// edit changes some pool as a person can in Cloud Manager.
func (w *world) edit() {
	for _, id := range slices.Sorted(maps.Keys(w.pools)) {
		p := w.pools[id]
		if id == 900 {
			continue
		}
		switch w.rng.IntN(12) {
		case 0:
			p.Tags = []string{"by-hand"}
		case 1: // it could not be detected in a pool with unowned slots
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
			if len(p.slots) > 1 { // LKE picks the victim
				p.slots = slices.Delete(p.slots, 0, 1)
			}
		case 7: // a call that is under way would lower it again
			if p.Group != "" && len(w.late) == 0 {
				w.resize(p, max(len(p.slots), min(len(p.slots)+2, w.policy.PoolSize)))
			}
		case 8:
			w.recycle(p)
		}
	}
}

// owns reports whether each slot of a pool is some claim's.
func (w *world) owns(p *place) bool {
	for _, b := range p.slots {
		if c := w.ownerOf(b.Instance); c == nil || c.Leaving {
			return false
		}
	}
	return len(p.slots) > 0
}

// roll lets claims go as Karpenter does whose pool is not what their group requests.
func (w *world) roll() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[uid]
		for _, p := range w.pools {
			holds := slices.ContainsFunc(p.slots, func(b *berth) bool { return b.Instance == c.Instance })
			if c.Instance != 0 && holds && !c.Group.CanHold(p.Traits) {
				w.leave(c)
			}
		}
	}
}
