package during

import (
	"maps"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// epoch is the start of the years in which overlaps are looked for. It is fixed, so that a commit always compiles
// alike.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// years is the number of these years: one of them is a leap year.
const years = 4

// An Overlap is a time at which two windows are active that set the same field.
type Overlap struct {
	First, Second string // names
	Path          string // of the field
	At            time.Time
}

// Overlaps returns the first overlap of each two windows that set the same field, in the years from 2026 on. The
// windows must be valid.
func Overlaps(d *manifest.During) (all []Overlap) {
	if d == nil {
		return nil
	}
	for i, a := range d.Windows {
		for _, b := range d.Windows[i+1:] {
			shared := slices.DeleteFunc(slices.Sorted(maps.Keys(a.Set)), func(path string) bool {
				_, both := b.Set[path]
				return !both
			})
			if len(shared) == 0 {
				continue
			}
			if at := overlap(a, b); !at.IsZero() {
				all = append(all, Overlap{a.Name, b.Name, shared[0], at})
			}
		}
	}
	return all
}

// overlap is the first time at which both windows are active; the zero time if there is none.
func overlap(a, b manifest.DuringWindow) time.Time {
	first, errA := read(a)
	second, errB := read(b)
	if errA != nil || errB != nil {
		return time.Time{}
	}
	end := epoch.AddDate(years, 0, 0)
	next := [2]time.Time{first.starts(epoch), second.starts(epoch)}
	for range MostTurns {
		turn, other := 0, second
		if next[0].IsZero() || !next[1].IsZero() && next[1].Before(next[0]) {
			turn, other = 1, first
		}
		at := next[turn]
		if at.IsZero() || at.After(end) {
			return time.Time{}
		}
		if !other.start(at).IsZero() {
			return at
		}
		// Earlier starts end before the other window starts again.
		after, own := other.starts(at), []window{first, second}[turn]
		if after.IsZero() {
			return time.Time{}
		}
		if after = after.Add(-own.lasts); after.Before(at) {
			after = at
		}
		next[turn] = own.starts(after)
	}
	return time.Time{}
}

// Always reports whether a window that has started never ends, because it always starts again before that: in the years
// from 2026 on, or in the first of its starts that MostTurns allows. The window must be valid.
func Always(w manifest.DuringWindow) bool {
	own, err := read(w)
	if err != nil {
		return false
	}
	end := epoch.AddDate(years, 0, 0)
	start := own.starts(epoch)
	for range MostTurns {
		next := own.starts(start)
		if start.IsZero() || next.IsZero() || next.Sub(start) > own.lasts {
			return false
		}
		if next.After(end) {
			break
		}
		start = next
	}
	return true
}
