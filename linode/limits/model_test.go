package limits

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world plays the API server, a cache that lags behind it, and controllers that
// come and go.
type world struct {
	rng    *rand.Rand
	now    time.Time
	limits []Limit
	stored map[string]Claim // what the API server has
	cached map[string]Claim // what the cache shows
	book   *Book
	fresh  bool            // the book has been recovered
	wrote  map[string]Node // answers of Reserve that are not stored yet
	nextID int
}

func newWorld(seed uint64) *world {
	return &world{
		rng: rand.New(rand.NewPCG(seed, 7)), now: now, book: NewBook(),
		limits: []Limit{
			{Name: "all", Max: Amounts{Nodes: 9, MonthlyCost: 400_000_000}},
			{Name: "a", Pools: []string{"a"}, Max: Amounts{CPU: 20_000}},
			{Name: "b", Pools: []string{"b"}, Max: Amounts{Nodes: 4}, Own: true},
		},
		stored: map[string]Claim{}, cached: map[string]Claim{}, wrote: map[string]Node{},
	}
}

func (w *world) show() {
	w.book.Show(w.limits, slices.Collect(maps.Values(w.cached)), w.now)
}

// sync lets the cache catch up with some of what is stored.
func (w *world) sync(chance float64) {
	for _, uid := range slices.Sorted(maps.Keys(w.cached)) {
		if _, there := w.stored[uid]; !there && w.rng.Float64() < chance {
			delete(w.cached, uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.stored)) {
		if w.rng.Float64() < chance {
			w.cached[uid] = w.stored[uid]
		}
	}
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Second)
	switch w.rng.IntN(12) {
	case 0, 1, 2: // pods come
		for range 1 + w.rng.IntN(6) {
			w.nextID++
			uid := fmt.Sprintf("c%04d", w.nextID)
			w.stored[uid] = Claim{UID: uid, Node: Node{Pool: []string{"a", "b"}[w.rng.IntN(2)]}}
		}
	case 3: // a user deletes a claim, and its machine is gone
		if uids := slices.Sorted(maps.Keys(w.stored)); len(uids) > 0 {
			uid := uids[w.rng.IntN(len(uids))]
			delete(w.stored, uid)
			delete(w.wrote, uid)
		}
	case 4: // the controller dies, and what it has not stored is lost
		w.book, w.fresh, w.wrote = NewBook(), false, map[string]Node{}
		w.sync(0.5) // the new one's cache starts late
	case 5, 6:
		w.sync(0.7)
	case 7:
		w.show()
	case 8, 9: // answers are stored
		for _, uid := range slices.Sorted(maps.Keys(w.wrote)) {
			node := w.wrote[uid]
			w.stored[uid] = Claim{UID: uid, Decided: true, Node: node}
			delete(w.wrote, uid)
		}
	default:
		w.launch()
	}
}

// launch asks for a node for each claim that the cache shows without one, as
// Karpenter does.
func (w *world) launch() {
	w.show()
	if !w.fresh {
		w.book.Recover(slices.Collect(maps.Values(w.stored)), w.now)
		w.fresh = true
	}
	for _, uid := range slices.Sorted(maps.Keys(w.cached)) {
		c := w.cached[uid]
		stored, there := w.stored[uid]
		if c.Decided && w.rng.IntN(20) == 0 {
			w.exchange(uid)
		}
		if c.Decided || w.rng.IntN(4) == 0 {
			continue
		}
		node := four(c.Node.Pool)
		_, _, ok := w.book.Reserve(uid, []Node{node}, w.now)
		switch {
		case !there || stored.Decided: // the write is refused: the claim has changed
		case ok:
			w.wrote[uid] = node
		default:
			delete(w.stored, uid)
			delete(w.wrote, uid)
		}
	}
}

// exchange asks for another plan for a claim that has one already, and writes it
// at once, or fails to.
func (w *world) exchange(uid string) {
	had := w.cached[uid].Node
	node := four(had.Pool)
	if had.Plan == node.Plan {
		node.Plan, node.Sold = "six", Amounts{Nodes: 1, CPU: 6000, Memory: 16 << 30, MonthlyCost: 96_000_000}
	}
	_, _, ok := w.book.Reserve(uid, []Node{node}, w.now)
	if stored, there := w.stored[uid]; ok && there && stored.Node.Plan == had.Plan && w.rng.IntN(4) > 0 {
		w.stored[uid] = Claim{UID: uid, Decided: true, Node: node}
	}
}

// exceeded names the limit that the nodes which are stored, and those that are
// about to be, go beyond.
func (w *world) exceeded() string {
	nodes := []Node{}
	for uid, c := range w.stored {
		if node, writing := w.wrote[uid]; writing {
			nodes = append(nodes, node)
		} else if c.Decided {
			nodes = append(nodes, c.Node)
		}
	}
	t := Count(w.limits, nodes)
	for i, l := range t.limits {
		for resource, most := range l.Max {
			if t.used[i][resource] > most {
				return fmt.Sprintf("%s: %d %s of %d", l.Name, t.used[i][resource], resource, most)
			}
		}
	}
	return ""
}

// miscounted names the limit whose use the book has not kept in step.
func (w *world) miscounted() string {
	kept := w.book.Tally().used
	w.book.countAll()
	for i, used := range w.book.used {
		for resource := range kept[i] {
			if used[resource] != kept[i][resource] {
				return fmt.Sprintf("%s: %d %s are kept for %d", w.limits[i].Name, kept[i][resource], resource, used[resource])
			}
		}
	}
	return ""
}

// TestNoBurstAndNoRestartGoesBeyondALimit: at no moment is there one node more
// than a limit allows, and when all has come to rest the limits are used up.
func TestNoBurstAndNoRestartGoesBeyondALimit(t *testing.T) {
	full := 0
	for seed := range uint64(500) {
		w := newWorld(seed)
		for range 150 {
			w.step()
			if what := cmp.Or(w.exceeded(), w.miscounted()); what != "" {
				t.Fatalf("seed %d: %s", seed, what)
			}
		}
		w.sync(1)
		w.now = w.now.Add(2 * unseenFor)
		w.show()
		_, a := w.book.Tally().Refuses(four("a"))
		_, b := w.book.Tally().Refuses(four("b"))
		if a || b {
			full++
		}
		if len(w.book.reserved) > len(w.wrote) {
			t.Fatalf("seed %d: %d reservations are left for %d claims", seed, len(w.book.reserved), len(w.wrote))
		}
	}
	if full < 100 {
		t.Errorf("only %d of 500 worlds came to a limit: the test tells little", full)
	}
}
