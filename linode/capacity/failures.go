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

// doubted is how long a slot stays without an instance before LKE's events are read for the reason.
const doubted = 30 * time.Second

// Doubts returns the time, by LKE's clock, since which failures may explain slots without an instance. It returns
// false if no slot needs an explanation.
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

// before returns the latest time that is certainly before the request for a slot that the current view is the first
// to show. It is by LKE's clock, as in the answers to lists, so that an old failure never seems to be about a new
// slot, independent of our clock and of the duration of an answer. The first view of a process may show slots of
// any age, so that only later failures are about them. It is zero if that answer had no time.
func (s *input) before(old Memory) time.Time {
	if old.started.IsZero() {
		return s.Shown
	}
	return old.clock
}

// explain finds the slots of a group that LKE has reported as failed. Each failure explains one slot of its pool:
// the one that was requested last before it.
func (s *input) explain(g *group, old Memory) {
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
				continue // the next view has a time
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

// forgetFailures forgets the failures that have explained a slot and cannot explain another one, because all existing
// slots were requested later.
func (s *input) forgetFailures() {
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

// failures returns the failures of the view, oldest first.
func (s *input) failures() []Failure {
	return slices.SortedFunc(slices.Values(s.Failures), func(a, b Failure) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
}
