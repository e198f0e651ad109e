package decide

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var steps = flag.Int("steps", nightly.Or(10_000, 200_000), "so many steps the model takes")

var modelPolicy = Policy{
	Cluster: "prod", Keep: 10 * time.Minute, Late: 2 * time.Minute, Burst: 20, Window: 15 * time.Second,
	Quick: 2 * time.Second, Idle: time.Minute,
}

// TestEveryClaimGetsOneLinode: for any answers, lists and restarts, no claim that continues
// loses its machine, no claim ends while its machine is there or may come, and once all
// is well there is one machine for each claim, and no more.
func TestEveryClaimGetsOneLinode(t *testing.T) {
	const stepsOfARun = 400
	for seed := range uint64(*steps / stepsOfARun) {
		w := newWorld(t, seed)
		for range stepsOfARun {
			w.step()
		}
		w.rest()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// world is an account at Linode, a cluster and the processes that decide.
type world struct {
	t         *testing.T
	seed      uint64
	rng       *rand.Rand
	now       time.Time
	claims    map[string]*subject
	account   map[int]*linode
	nodes     map[int]Node
	late      []effect
	processes []*process
	shown     []Machine // what an old list shows
	faults    bool
	stock     map[string]bool
	next      int
}

// subject is a claim as the API server has it.
type subject struct {
	Claim
	released bool
}

type linode struct {
	Machine
	ours bool
	late *process  // that has asked for it, where it was made later
	away time.Time // until when its host is maintained, and no list shows it
}

// effect is a call that is done later.
type effect struct {
	at    time.Time
	label string // of the machine that it makes
	by    *process
	do    func()
}

// process is a controller that decides, or one that still does though another leads.
type process struct {
	memory Memory
	until  time.Time
	sent   []time.Time
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0), faults: true,
		claims: map[string]*subject{}, account: map[int]*linode{}, nodes: map[int]Node{}, processes: []*process{{}},
		stock: map[string]bool{"a": true, "b": true, "c": true}, next: 1000,
	}
	for _, label := range []string{"prod-web", "prod-0123456789012345678z", "staging-01234567890123456789"} {
		w.add(label, label == "prod-web") // of another owner who uses the same tag
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *world) step() {
	w.now = w.now.Add(time.Duration(1+w.rng.IntN(8)) * time.Second)
	if w.chance(2) {
		w.now = w.now.Add(time.Duration(w.rng.IntN(600)) * time.Second)
	}
	w.happen()
	if w.chance(20) {
		for range 1 + w.rng.IntN(6) {
			w.ask()
		}
	}
	if w.chance(15) {
		w.part()
	}
	if w.chance(3) {
		kind := []string{"a", "b", "c"}[w.rng.IntN(3)]
		w.stock[kind] = !w.stock[kind]
	}
	if w.chance(2) { // a user deletes a machine
		for _, id := range slices.Sorted(maps.Keys(w.account)) {
			if Ours(modelPolicy.Cluster, w.account[id].Label) {
				w.remove(id)
				break
			}
		}
	}
	if w.chance(2) {
		w.maintain()
	}
	if w.chance(2) {
		w.restart()
	}
	w.processes = slices.DeleteFunc(w.processes, func(p *process) bool {
		return !p.until.IsZero() && !w.now.Before(p.until)
	})
	for _, p := range slices.Clone(w.processes) {
		w.decide(p)
	}
}

// maintain starts maintenance of the hosts of some machines, which lasts up to an hour.
func (w *world) maintain() {
	for _, id := range slices.Sorted(maps.Keys(w.account)) {
		if w.chance(25) {
			w.account[id].away = w.now.Add(time.Duration(w.rng.IntN(3600)) * time.Second)
		}
	}
}

// restart has another process lead. The last one is dead, or continues for some seconds.
func (w *world) restart() {
	w.processes[len(w.processes)-1].until = w.now
	if w.chance(50) {
		w.processes[len(w.processes)-1].until = w.now.Add(20 * time.Second)
	}
	w.processes = append(w.processes, &process{})
}

func (w *world) ask() {
	w.next++
	uid := fmt.Sprint("uid-", w.next)
	kind := []string{"a", "b", "c"}[w.rng.IntN(3)]
	w.claims[uid] = &subject{Claim: Claim{UID: uid, Kind: kind, Created: w.now}}
}

// part has a claim end: Karpenter drains its Node, and says some time later that its
// machine may go.
func (w *world) part() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		switch c := w.claims[uid]; {
		case c.released || !w.chance(30):
		case !c.Leaving:
			c.Leaving = true
			return
		default:
			c.released = true
			delete(w.nodes, c.Machine)
			return
		}
	}
}

// happen has late calls done, and machines join.
func (w *world) happen() {
	var left []effect
	for _, e := range w.late {
		if e.at.After(w.now) {
			left = append(left, e)
			continue
		}
		e.do()
	}
	w.late = left
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[uid]
		if l := w.account[c.Machine]; l != nil && !c.Leaving && w.chance(20) {
			w.nodes[c.Machine] = Node{Name: l.Label}
		}
	}
}

func (w *world) add(label string, ours bool) int {
	for _, l := range w.account {
		if l.Label == label {
			return 0
		}
	}
	w.next++
	w.account[w.next] = &linode{Machine: Machine{ID: w.next, Label: label}, ours: ours}
	return w.next
}

func (w *world) remove(id int) {
	delete(w.account, id)
	delete(w.nodes, id)
}

// list shows the machines with the cluster's tag; with faults an old state, or not all.
func (w *world) list() (all []Machine) {
	for _, id := range slices.Sorted(maps.Keys(w.account)) {
		if l := w.account[id]; l.ours && !(w.faults && l.away.After(w.now)) {
			all = append(all, l.Machine)
		}
	}
	if w.faults && w.chance(10) {
		return w.shown
	}
	w.shown = all
	if w.faults && w.chance(5) {
		return slices.DeleteFunc(slices.Clone(all), func(Machine) bool { return w.chance(50) })
	}
	return all
}

func (w *world) decide(p *process) {
	view := View{Machines: w.list(), Nodes: maps.Clone(w.nodes), Asked: w.now}
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[uid]
		shown := c.Claim
		if w.faults && w.chance(5) {
			shown.Machine = 0 // a cache that lags, or an overwritten field
		}
		view.Claims = append(view.Claims, shown)
		if c.released && p.memory.Release(uid, w.now) {
			w.end(p, c)
		}
	}
	view.Claims = slices.DeleteFunc(view.Claims, func(c Claim) bool { return w.claims[c.UID] == nil })
	d := Decide(view, p.memory, modelPolicy, w.now)
	p.memory = d.Memory
	for _, b := range d.Binds {
		w.bind(p, b)
	}
	for _, c := range d.Creates {
		w.create(p, c)
	}
	for _, l := range d.Looks {
		_, there := w.account[l.Machine]
		for _, other := range w.account {
			there = there || l.Label == other.Label
		}
		p.memory.Looked(l, there, !w.faults || w.chance(80), w.now)
	}
	for _, order := range d.Deletes {
		w.delete(p, order)
	}
	for _, uid := range d.Lost {
		if c := w.claims[uid]; w.account[c.Machine] != nil {
			w.fail("claim %s is to end though its Linode %d is there", uid, c.Machine)
		} else {
			c.Leaving, c.released = true, true
		}
	}
	for _, uid := range slices.Concat(d.Taken, d.OutOfStock) {
		if c := w.claims[uid]; c.Machine == 0 { // it is read live before
			c.Leaving, c.released = true, true
		}
	}
	for _, drain := range d.Drains {
		for _, c := range w.claims {
			if c.Machine == drain.Machine && !c.released {
				w.fail("the Node of claim %s is drained", c.UID)
			}
		}
		delete(w.nodes, drain.Machine)
	}
	for _, id := range d.Kept { // a user checks it and allows its deletion
		n := w.nodes[id]
		n.MayBeDeleted = true
		w.nodes[id] = n
	}
}

// end has a claim end, which must have no machine, and none to come. What another process
// has asked for may come later: it is swept.
func (w *world) end(p *process, c *subject) {
	label := Label(modelPolicy.Cluster, c.UID)
	for _, l := range w.account {
		if l.Label == label && (l.late == nil || l.late == p) {
			w.fail("claim %s ended, and its Linode %d is there", c.UID, l.ID)
		}
	}
	for _, e := range w.late {
		if e.label == label && e.by == p {
			w.fail("claim %s ended, and its Linode may still be made", c.UID)
		}
	}
	delete(w.claims, c.UID)
}

func (w *world) bind(p *process, b Bind) {
	if w.faults && w.chance(10) {
		p.memory.Bound(b, w.now)
		return
	}
	if c := w.claims[b.UID]; c != nil && c.Machine == 0 {
		c.Machine = b.Machine
	}
	p.memory.Bound(b, w.now)
}

func (w *world) create(p *process, order Create) {
	p.sent = slices.DeleteFunc(append(p.sent, w.now), func(at time.Time) bool {
		return w.now.Sub(at) >= modelPolicy.Window
	})
	if len(p.sent) > modelPolicy.Burst {
		w.fail("%d creates within %s", len(p.sent), modelPolicy.Window)
	}
	c := w.claims[order.UID]
	answer := func(id int, o Outcome) { p.memory.Made(c.Claim, id, o, modelPolicy, w.now) }
	switch {
	case !w.stock[c.Kind]:
		answer(0, NoStock)
		return
	case w.faults && w.chance(8):
		answer(0, []Outcome{NoRoom, Busy, Refused}[w.rng.IntN(3)])
		return
	}
	switch fate := w.rng.IntN(100); {
	case w.faults && fate < 8: // never done
		answer(0, Unknown)
	case w.faults && fate < 20:
		in := time.Duration(w.rng.IntN(int(modelPolicy.Late.Seconds()))) * time.Second
		w.late = append(w.late, effect{at: w.now.Add(in), label: order.Label, by: p, do: func() {
			if id := w.add(order.Label, true); id != 0 {
				w.account[id].late = p
			}
		}})
		answer(0, Unknown)
	case w.faults && fate < 26:
		w.add(order.Label, true)
		answer(0, Unknown)
	default:
		if id := w.add(order.Label, true); id != 0 {
			answer(id, Done)
			return
		}
		for id, l := range w.account { // the label is taken: whose is it?
			if l.Label == order.Label {
				answer(id, Done)
			}
		}
	}
}

func (w *world) delete(p *process, order Delete) {
	label := ""
	if l := w.account[order.Machine]; l != nil {
		label = l.Label
	}
	if label != "" && label != order.Label {
		w.fail("Linode %d with the label %s is to be deleted as %s", order.Machine, label, order.Label)
	}
	for _, c := range w.claims {
		if !c.released && Label(modelPolicy.Cluster, c.UID) == order.Label {
			if order.UID != "" { // orphans are read live before
				w.fail("the Linode of claim %s is deleted", c.UID)
			}
			p.memory.Deleted(order, Refused, w.now)
			return
		}
	}
	if _, inhabited := w.nodes[order.Machine]; inhabited {
		w.fail("Linode %d is deleted with its pods", order.Machine)
	}
	after := func(d time.Duration) {
		do := func() { w.remove(order.Machine) }
		w.late = append(w.late, effect{at: w.now.Add(d), by: p, do: do})
		p.memory.Deleted(order, Unknown, w.now)
	}
	switch fate := w.rng.IntN(100); {
	case label == "":
		p.memory.Deleted(order, Done, w.now)
	case w.faults && fate < 10:
		p.memory.Deleted(order, Busy, w.now)
	case w.faults && fate < 15:
		after(time.Minute)
	default: // Linode takes a while
		after(15 * time.Second)
	}
}

// rest ends all faults: within half an hour all is as it should be.
func (w *world) rest() {
	w.faults = false
	for kind := range w.stock {
		w.stock[kind] = true
	}
	for range 900 {
		w.now = w.now.Add(2 * time.Second)
		w.happen()
		for _, c := range w.claims {
			if c.Leaving && !c.released {
				c.released = true
				delete(w.nodes, c.Machine)
			}
		}
		w.processes = w.processes[len(w.processes)-1:]
		w.decide(w.processes[0])
	}
	machines := map[string]int{}
	for id, l := range w.account {
		if Ours(modelPolicy.Cluster, l.Label) && l.ours {
			machines[l.Label] = id
		}
	}
	for uid, c := range w.claims {
		label := Label(modelPolicy.Cluster, uid)
		if c.released || c.Machine == 0 || machines[label] != c.Machine {
			w.fail("at rest claim %s has Linode %d, released: %v; its label has %d", uid, c.Machine, c.released, machines[label])
		}
		delete(machines, label)
	}
	if len(machines) > 0 {
		w.fail("at rest %v have no owner", machines)
	}
	if len(w.account)-len(w.claims) != 3 {
		w.fail("at rest there are %d Linodes for %d claims and 3 of others", len(w.account), len(w.claims))
	}
}
