package limits

import (
	"maps"
	"time"
)

// Claim is a NodeClaim as read from the API server or a cache.
type Claim struct {
	UID     string
	Decided bool // a plan was chosen for it, so that it has or gets a machine
	Node    Node // its node, if Decided
}

// unseenFor is how long a reservation counts that the reader does not show. A watch shows it within seconds: a
// claim that does not exist by then was deleted, and one with another plan was never written.
const unseenFor = time.Minute

// Book holds all nodes that count: those of claims that the reader shows as
// decided, and those that were reserved and that the reader does not show yet.
// The reader may lag behind the API server, but never goes back.
// A claim reserves its node with Reserve before any other process can see it, and the node counts from that
// moment, so no burst exceeds a limit. After a restart Recover gives a Book the earlier decisions.
type Book struct {
	limits   []Limit
	shown    map[string]Node // by claim
	reserved map[string]*reservation
	used     []Amounts // of each limit, by all nodes; kept in step, so that a burst does not count all nodes each time
}

type reservation struct {
	node Node
	seen bool // the reader has shown the claim, not Decided
	made time.Time
}

// NewBook returns a Book without limits and claims.
func NewBook() *Book {
	return &Book{shown: map[string]Node{}, reserved: map[string]*reservation{}}
}

// Show replaces limits and claims with what the reader shows now, and ends the reservations that it shows.
func (b *Book) Show(limits []Limit, claims []Claim, now time.Time) {
	b.limits, b.shown = limits, make(map[string]Node, len(claims))
	there := make(map[string]bool, len(claims))
	for _, c := range claims {
		there[c.UID] = true
		if !c.Decided {
			continue
		}
		b.shown[c.UID] = c.Node
		// If a claim has changed its plan, the new one counts from now on.
		if r := b.reserved[c.UID]; r != nil && (r.node.Plan == c.Node.Plan || now.Sub(r.made) > unseenFor) {
			delete(b.reserved, c.UID)
		}
	}
	for uid, r := range b.reserved {
		r.seen = r.seen || there[uid]
		if !there[uid] && (r.seen || now.Sub(r.made) > unseenFor) {
			delete(b.reserved, uid)
		}
	}
	b.countAll()
}

// Recover adds the decisions of an earlier process, from a read that did not lag.
func (b *Book) Recover(claims []Claim, now time.Time) {
	for _, c := range claims {
		if n, shown := b.shown[c.UID]; c.Decided && (!shown || n.Plan != c.Node.Plan) {
			b.reserved[c.UID] = &reservation{node: c.Node, made: now}
		}
	}
	b.countAll()
}

// Reserve gives a claim the first of the wishes for which all limits have room. A claim that asks again, because
// its answer was lost, gets the same wish, if it still has it. If nothing fits, the result has the refusal of the
// first wish.
func (b *Book) Reserve(uid string, wishes []Node, now time.Time) (chosen int, refusal Refusal, ok bool) {
	had, again := b.reserved[uid]
	for i, wish := range wishes {
		if again && wish.Plan == had.node.Plan && wish.Pool == had.node.Pool {
			return i, Refusal{}, true
		}
	}
	b.count(uid, -1)
	defer b.count(uid, 1)
	tally := Tally{limits: b.limits, used: b.used}
	for i, wish := range wishes {
		r, refused := tally.Refuses(wish)
		if !refused {
			b.reserved[uid] = &reservation{node: wish, seen: true, made: now}
			return i, Refusal{}, true
		}
		if i == 0 {
			refusal = r
		}
	}
	return 0, refusal, false
}

// Tally counts all nodes of the book.
func (b *Book) Tally() Tally {
	used := make([]Amounts, len(b.used))
	for i := range used {
		used[i] = maps.Clone(b.used[i])
	}
	return Tally{limits: b.limits, used: used}
}

// countAll counts all nodes again.
func (b *Book) countAll() {
	nodes := make([]Node, 0, len(b.shown)+len(b.reserved))
	for uid := range b.shown {
		if b.reserved[uid] == nil {
			nodes = append(nodes, b.shown[uid])
		}
	}
	for uid := range b.reserved {
		node, _ := b.node(uid)
		nodes = append(nodes, node)
	}
	b.used = Count(b.limits, nodes).used
}

// count adds the node of one claim a number of times, which can be -1.
func (b *Book) count(uid string, times int64) {
	node, counts := b.node(uid)
	if !counts {
		return
	}
	for i, l := range b.limits {
		for resource, amount := range l.amounts(node) {
			b.used[i][resource] += times * amount
		}
	}
}

// node returns the node as which a claim counts.
func (b *Book) node(uid string) (node Node, counts bool) {
	shown, isShown := b.shown[uid]
	if r := b.reserved[uid]; r != nil {
		return r.node.orMore(shown), true
	}
	return shown, isShown
}

// orMore returns a node that may be one or the other: of each resource the larger
// amount.
func (n Node) orMore(other Node) Node {
	n.Sold, n.Reported = largerAmounts(n.Sold, other.Sold), largerAmounts(n.Reported, other.Reported)
	return n
}

func largerAmounts(a, b Amounts) Amounts {
	most := maps.Clone(a)
	for resource, amount := range b {
		most[resource] = max(most[resource], amount)
	}
	return most
}
