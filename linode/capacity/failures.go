package capacity

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Failure is an event that LKE could not create a node of a pool.
//
// Unverified: that one event means one slot, and that LKE does not create the node later.
type Failure struct {
	ID   int
	Pool int
	At   time.Time // by LKE's clock, in seconds
}

// doubted is how long a slot stays without an instance until it is asked whether LKE has written why.
const doubted = 30 * time.Second

// Doubts returns since when failures may explain slots that stay without an instance, by LKE's clock, and false if
// there is nothing to ask.
func (m *Memory) Doubts(now time.Time) (since time.Time, ask bool) {
	for slot, after := range m.notBefore {
		if m.unmade[slot] || m.ended[slot] || now.Sub(m.emptySince[slot]) < doubted {
			continue
		}
		if !ask || after.Before(since) {
			since, ask = after, true
		}
	}
	return since, ask
}

// before is the latest time that is known to be before a slot which a view is the first to show was requested. It is by
// LKE's clock, as the answers to lists have it, so that an old failure never seems to be about a new slot,
// independent of our clock and of the duration of an answer. The first view of a process may show slots of
// any age: only what is written from then on is about them. It is zero if that answer did not say its time.
func (s *scene) before(old Memory) time.Time {
	if old.started.IsZero() {
		return s.Shown
	}
	return old.clock
}

// explain finds the slots of a group that LKE has said it cannot make. Each failure explains one slot of its pool: that
// which was requested last before it.
func (s *scene) explain(g *group, old Memory) {
	for _, p := range g.pools {
		var doubtful []Slot
		for _, slot := range g.empty {
			if !slices.Contains(p.Slots, slot) {
				continue
			}
			after, known := old.notBefore[slot.ID]
			if !known {
				after = s.before(old)
				if hidden, ok := s.listedLate[p.ID]; ok {
					after = hidden
				}
			}
			s.memory.unmade[slot.ID] = old.unmade[slot.ID]
			if after.IsZero() {
				continue // the next view knows a time
			}
			s.memory.notBefore[slot.ID] = after
			if !old.unmade[slot.ID] && s.now.Sub(s.memory.emptySince[slot.ID]) >= doubted {
				doubtful = append(doubtful, slot)
			}
		}
		slices.SortStableFunc(doubtful, func(a, b Slot) int {
			return s.memory.notBefore[b.ID].Compare(s.memory.notBefore[a.ID])
		})
		for _, f := range s.failures() {
			if _, spent := s.memory.spent[f.ID]; spent || f.Pool != p.ID {
				continue
			}
			i := slices.IndexFunc(doubtful, func(slot Slot) bool { return !f.At.Before(s.memory.notBefore[slot.ID]) })
			if i < 0 {
				continue
			}
			s.memory.unmade[doubtful[i].ID], s.memory.spent[f.ID] = true, f.At
			doubtful = slices.Delete(doubtful, i, i+1)
		}
	}
}

// forget forgets the failures that have explained a slot when they cannot explain another: all that exist were
// requested later.
func (s *scene) forget() {
	var oldest []time.Time
	for _, after := range s.memory.notBefore {
		oldest = append(oldest, after)
	}
	for _, p := range s.Pools {
		if h := s.memory.hidden[p.ID]; p.Group != "" && s.fresh(p) > 0 && !h.before.IsZero() {
			oldest = append(oldest, h.before)
		}
	}
	maps.DeleteFunc(s.memory.spent, func(_ int, at time.Time) bool {
		return !slices.ContainsFunc(oldest, func(after time.Time) bool { return !at.Before(after) })
	})
}

// failures are those of the view, oldest first.
func (s *scene) failures() []Failure {
	return slices.SortedFunc(slices.Values(s.Failures), func(a, b Failure) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
}
