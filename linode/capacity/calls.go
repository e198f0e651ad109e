package capacity

import (
	"maps"
	"slices"
	"time"
)

// lateness is how long after a call without an answer it may still take effect.
// Unverified: the number, and that a call is never done later.
const lateness = 2 * time.Minute

// Outcome is the result of a call to LKE.
type Outcome int

// The outcomes of calls.
const (
	Done    Outcome = iota // answered with success
	Unknown                // no answer or a server error: carried out now, later or never
	Refused                // not done; the same call is refused again until something changes
	Busy                   // not done; the same call may pass soon
	NoStock                // not done: LKE has no such machines, or not as many
	NoRoom                 // not done: the account may not have as many
	Locked                 // not done: it is locked against deletion
)

// pendingCalls has the calls to LKE whose effect no view has shown yet. Until the effect shows or is no longer
// possible, decisions allow for both outcomes.
type pendingCalls struct {
	raises    map[int]raise       // by pool
	creations []creation          // oldest first
	slots     map[string]deletion // slots that are being deleted
	pools     map[int]deletion    // pools that are being deleted
	paused    map[int]poolPause   // by pool: pools whose count did not rise
}

// raise is a call that raises the count of a pool. Once such a call has had no answer, no other count may be
// requested: the call may still take effect later, and if the count is higher by then, LKE deletes machines to
// lower it.
type raise struct {
	key      string // of the group
	count    int
	since    time.Time // first sent
	answered time.Time // time of the last answer, or when waiting for it ended
	next     time.Time // not sent again before this time
	ceiling  time.Time // until this time a call without an answer may take effect
	sends    int
	dropped  int // slots of the pool that were deleted since
	silent   bool
	shown    bool
	gaveUp   bool
	underway bool
}

// creation is a call that creates a pool.
type creation struct {
	key      string
	count    int
	sent     time.Time
	answered time.Time
	pool     int // its id, if the answer has it
	underway bool
}

// deletion is a call that deletes a slot or a pool. As long as the call may have an effect, the slot or pool is not
// given to a claim, and does not count as supply.
type deletion struct {
	key      string
	pool     int
	answered time.Time
	until    time.Time // until this time it may be deleted
	next     time.Time // not requested again before this time
	tries    int
	promised bool // LKE has said that it is deleted
	underway bool
}

// poolPause is the time during which a pool does not grow.
type poolPause struct {
	until time.Time
	times int
}

func (a *pendingCalls) clone() pendingCalls {
	b := pendingCalls{
		raises: maps.Clone(a.raises), creations: slices.Clone(a.creations), slots: maps.Clone(a.slots),
		pools: maps.Clone(a.pools), paused: maps.Clone(a.paused),
	}
	if b.raises == nil {
		b.raises, b.slots, b.pools, b.paused = map[int]raise{}, map[string]deletion{}, map[int]deletion{}, map[int]poolPause{}
	}
	return b
}

// send records the calls of a work as sent.
func (a *pendingCalls) send(w Work, poolOf map[string]int, now time.Time) {
	for _, g := range w.Grow {
		r := a.raises[g.Pool]
		if r.count != g.Count {
			r = raise{key: w.Key, count: g.Count, since: now}
		}
		r.sends++
		r.underway = true
		a.raises[g.Pool] = r
	}
	for _, n := range w.Create {
		a.creations = append(a.creations, creation{key: w.Key, count: n, sent: now, underway: true})
	}
	for _, s := range w.DeleteSlots {
		d := a.slots[s]
		d.key, d.pool, d.underway, d.tries = w.Key, poolOf[s], true, d.tries+1
		a.slots[s] = d
	}
	for _, p := range w.DeletePools {
		d := a.pools[p]
		d.key, d.pool, d.underway, d.tries = w.Key, p, true, d.tries+1
		a.pools[p] = d
	}
}

// backoff returns a pause that doubles with each attempt, up to five minutes.
func backoff(first time.Duration, tries int) time.Duration {
	return min(first<<min(max(tries-1, 0), 10), 5*time.Minute)
}

// pauseAfter returns the time before the same call is sent again.
func pauseAfter(o Outcome, tries int) time.Duration {
	switch o {
	case Busy:
		return 3 * time.Second
	case Unknown:
		return backoff(5*time.Second, tries)
	case Locked:
		return time.Hour
	default:
		return backoff(10*time.Second, tries)
	}
}

// Grew records the outcome of raising a pool's count.
func (m *Memory) Grew(g Grow, o Outcome, now time.Time) {
	r, ok := m.calls.raises[g.Pool]
	if !ok {
		return
	}
	r.underway, r.answered = false, now
	switch o {
	case Done:
	case Unknown:
		r.silent, r.ceiling = true, now.Add(lateness)
	default:
		r.sends--
		if !r.silent {
			delete(m.calls.raises, g.Pool)
			return
		}
	}
	r.next = now.Add(pauseAfter(o, r.sends))
	m.calls.raises[g.Pool] = r
}

// Made records the outcome of creating a pool with count nodes; pool is its id if the answer has it, else 0.
func (m *Memory) Made(key string, count, pool int, o Outcome, now time.Time) {
	i := slices.IndexFunc(m.calls.creations, func(c creation) bool {
		return c.underway && c.key == key && c.count == count
	})
	switch {
	case i < 0:
	case o == Done || o == Unknown:
		c := &m.calls.creations[i]
		c.underway, c.answered, c.pool = false, now, pool
	default:
		m.calls.creations = slices.Delete(m.calls.creations, i, i+1)
	}
}

// SlotDeleted records the outcome of deleting a slot.
func (m *Memory) SlotDeleted(slot string, o Outcome, now time.Time) {
	m.calls.slots[slot] = m.calls.slots[slot].after(o, now)
}

// PoolDeleted records the outcome of deleting a pool.
func (m *Memory) PoolDeleted(pool int, o Outcome, now time.Time) {
	m.calls.pools[pool] = m.calls.pools[pool].after(o, now)
}

func (d deletion) after(o Outcome, now time.Time) deletion {
	d.underway, d.answered, d.next = false, now, now.Add(pauseAfter(o, d.tries))
	if o == Unknown {
		d.until = now.Add(lateness)
	}
	d.promised = d.promised || o == Done
	return d
}

// mayGo reports whether a call may still delete a slot or pool.
func (d deletion) mayGo(now time.Time) bool { return d.underway || d.promised || now.Before(d.until) }

// mayAsk reports whether the deletion may be requested again.
func (d deletion) mayAsk(now time.Time) bool { return !d.underway && !now.Before(d.next) }

// finish forgets the calls of a group's work that were not sent.
func (a *pendingCalls) finish(key string) {
	for pool, r := range a.raises {
		if r.key == key && r.underway {
			r.underway, r.sends = false, r.sends-1
			if r.sends == 0 {
				delete(a.raises, pool)
			} else {
				a.raises[pool] = r
			}
		}
	}
	a.creations = slices.DeleteFunc(a.creations, func(c creation) bool { return c.key == key && c.underway })
	forgetUnsent(a.slots, key)
	forgetUnsent(a.pools, key)
}

func forgetUnsent[K comparable](deletions map[K]deletion, key string) {
	for id, d := range deletions {
		if d.key == key && d.underway {
			d.underway, d.tries = false, d.tries-1
			deletions[id] = d
		}
	}
}

// anyOpen reports whether some call may still take effect.
func (a *pendingCalls) anyOpen() bool {
	return len(a.raises)+len(a.creations)+len(a.slots)+len(a.pools) > 0
}
