package capacity

import (
	"maps"
	"time"
)

// Memory is what Decide has to know of earlier decisions and of what became of
// them. The zero Memory knows nothing: losing it, in a restart, only makes Decide
// more patient.
//
// Decide returns the next Memory and leaves its argument as it is. The methods
// record events between two decisions; they are not safe for concurrent use.
type Memory struct {
	unownedSince map[string]time.Time // by slot id
	emptySince   map[string]time.Time // by slot id, of slots without an instance
	mended       map[int]attempt      // by pool id
	lost         map[string]bool      // claims whose machine was reported as lost
	assigned     map[string]int       // machines of claims, which the view may not show yet
	released     map[string]time.Time // claims whose machine may go, since when
	gone         map[string]bool      // released claims whose machine is surely gone
	groups       map[string]motion    // by the group's key
	waitingSince time.Time            // since when some claim has always been waiting
}

// motion says whether a group's pools are being changed.
type motion struct {
	busy   bool
	rested time.Time // when the last Work was finished
	hold   time.Time // no growth before
	fails  int       // how often growth has failed in a row
}

// Release records that the machine of a claim may go. It reports whether this is
// the first call for the claim, and whether the machine is surely gone.
func (m *Memory) Release(uid string, now time.Time) (first, gone bool) {
	if _, again := m.released[uid]; again {
		return false, m.gone[uid]
	}
	put(&m.released, uid, now)
	return true, m.gone[uid]
}

// Bound records that a Bind was stored, before a view shows it.
func (m *Memory) Bound(b Bind) { put(&m.assigned, b.UID, b.Instance) }

// Assigned returns the machine of a claim; 0 where it has none.
func (m *Memory) Assigned(uid string) int { return m.assigned[uid] }

// Grown records that the growth of a group has succeeded.
func (m *Memory) Grown(key string) {
	g := m.groups[key]
	g.fails, g.hold = 0, time.Time{}
	put(&m.groups, key, g)
}

// GrowthFailed records that the growth of a group has failed, and returns how often
// it has in a row.
func (m *Memory) GrowthFailed(key string) (inARow int) {
	g := m.groups[key]
	g.fails++
	put(&m.groups, key, g)
	return g.fails
}

// Hold keeps a group from growing before a time.
func (m *Memory) Hold(key string, until time.Time) {
	g := m.groups[key]
	g.hold = until
	put(&m.groups, key, g)
}

// Finish records that the Work of a group was carried out, or was given up.
func (m *Memory) Finish(key string, now time.Time) {
	g := m.groups[key]
	g.busy, g.rested = false, now
	put(&m.groups, key, g)
}

// moving reports whether a view may miss changes of a group.
func (m *Memory) moving(key string, asked time.Time) bool {
	g := m.groups[key]
	return g.busy || g.rested.After(asked)
}

// settled reports whether the machine of each released claim is surely gone.
func (m *Memory) settled() bool {
	for uid := range m.released {
		if !m.gone[uid] {
			return false
		}
	}
	return true
}

// after returns the Memory for the next decision, without the claims that the view
// does not show any more. What Decide finds out about slots and pools is still to
// be filled in.
func (m *Memory) after(view View) Memory {
	next := Memory{
		unownedSince: map[string]time.Time{}, emptySince: map[string]time.Time{}, mended: map[int]attempt{},
		lost: map[string]bool{}, assigned: map[string]int{}, released: map[string]time.Time{}, gone: map[string]bool{},
		groups: map[string]motion{}, waitingSince: m.waitingSince,
	}
	maps.Copy(next.groups, m.groups)
	for _, c := range view.Claims {
		if instance := m.assigned[c.UID]; instance != 0 {
			next.assigned[c.UID] = instance
		} else if c.Instance != 0 {
			next.assigned[c.UID] = c.Instance
		}
		if since, ok := m.released[c.UID]; ok {
			next.released[c.UID] = since
		}
		if m.gone[c.UID] {
			next.gone[c.UID] = true
		}
	}
	return next
}

// complete returns the claims with the machines and releases that the view does not
// show.
func (m *Memory) complete(claims []Claim) []Claim {
	out := make([]Claim, len(claims))
	for i, c := range claims {
		if c.Instance == 0 {
			c.Instance = m.assigned[c.UID]
		}
		_, c.released = m.released[c.UID]
		out[i] = c
	}
	return out
}

// put sets an entry of a map that may be nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
