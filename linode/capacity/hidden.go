package capacity

import (
	"slices"
	"time"
)

// hidden are the slots of a pool that LKE counts and does not list, as on Enterprise for
// the first minute.
type hidden struct {
	since  []time.Time // of each, oldest first
	ended  int         // of those that are overdue: for how many a claim was ended
	count  int         // of the pool
	listed []Slot      // of the pool
	before time.Time   // none of them was requested later than in the view after that, by LKE's clock
}

// next brings it up to date: of those that were hidden the oldest are listed first, but for
// those that are overdue anyway.
func (h hidden) next(n int, timeout time.Duration, now time.Time) hidden {
	since := slices.Clone(h.since)
	for len(since) < n {
		since = append(since, now)
	}
	for len(since) > n {
		i := min(overdue(since, timeout, now), len(since)-1)
		since = slices.Delete(since, i, i+1)
	}
	return hidden{since: since, ended: min(h.ended, overdue(since, timeout, now))}
}

// overdue is how many of them were not listed in time: they become no machine.
func overdue(since []time.Time, timeout time.Duration, now time.Time) int {
	n := 0
	for n < len(since) && now.Sub(since[n]) >= timeout {
		n++
	}
	return n
}

// rememberHidden brings the memory of hidden slots up to date.
func (s *scene) rememberHidden(old Memory) {
	for _, p := range s.Pools {
		last := old.hidden[p.ID]
		h := last.next(p.hidden(), s.policy.SlotTimeout, s.now)
		h.count, h.listed, h.before = p.Count, p.Slots, last.before
		// If a slot is gone, another may have been asked for meanwhile.
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

// overdue is how many hidden slots of a pool are overdue; fresh is how many are not.
func (s *scene) overdue(p Pool) int {
	return overdue(s.memory.hidden[p.ID].since, s.policy.SlotTimeout, s.now)
}

func (s *scene) fresh(p Pool) int { return p.hidden() - s.overdue(p) }
