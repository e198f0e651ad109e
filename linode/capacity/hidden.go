package capacity

import (
	"slices"
	"time"
)

// hidden are the slots of a pool that LKE counts and does not list. On Enterprise this lasts about a minute for new
// slots.
type hidden struct {
	since  []time.Time // since when each is hidden, oldest first
	ended  int         // number of overdue slots for which a claim was ended
	count  int         // the count of the pool
	listed []Slot      // the listed slots of the pool
	before time.Time   // none of them was requested later than in the view after this time, by LKE's clock
}

// next updates the hidden slots to n. The oldest are listed first, except for overdue ones, which are never listed.
func (h hidden) next(n int, timeout time.Duration, now time.Time) hidden {
	since := slices.Clone(h.since)
	for len(since) < n {
		since = append(since, now)
	}
	for len(since) > n {
		i := min(countOverdue(since, timeout, now), len(since)-1)
		since = slices.Delete(since, i, i+1)
	}
	return hidden{since: since, ended: min(h.ended, countOverdue(since, timeout, now))}
}

// countOverdue returns how many of the slots were not listed in time and are given up.
func countOverdue(since []time.Time, timeout time.Duration, now time.Time) int {
	n := 0
	for n < len(since) && now.Sub(since[n]) >= timeout {
		n++
	}
	return n
}

// rememberHidden updates the memory of hidden slots.
func (s *input) rememberHidden(old Memory) {
	for _, p := range s.Pools {
		last := old.hidden[p.ID]
		h := last.next(p.hidden(), s.policy.SlotTimeout, s.now)
		h.count, h.listed, h.before = p.Count, p.Slots, last.before
		// If a slot is gone, another one may have been requested since.
		gone := slices.ContainsFunc(last.listed, func(slot Slot) bool {
			return !slices.ContainsFunc(p.Slots, func(other Slot) bool { return other.ID == slot.ID })
		})
		if gone || p.Count > last.count || len(h.since) > len(last.since) {
			h.before = s.before(old)
		} else if len(h.since) < len(last.since) {
			s.listedLate[p.ID] = last.before
		}
		if len(h.since) > 0 {
			s.memory.hidden[p.ID] = h
		}
	}
}

// overdue returns how many hidden slots of a pool are overdue; fresh returns how many are not.
func (s *input) overdue(p Pool) int {
	return countOverdue(s.memory.hidden[p.ID].since, s.policy.SlotTimeout, s.now)
}

func (s *input) fresh(p Pool) int { return p.hidden() - s.overdue(p) }
