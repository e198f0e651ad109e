package schedule

import (
	"iter"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// Year is how far ahead budgets, windows and freezes are looked up: a leap year.
const Year = 366 * day

const (
	day     = 24 * time.Hour
	perDay  = int(day / time.Minute)
	starBit = 1 << 63 // set in a field of cron that is * or begins with it
)

// minutes are the minutes of a day.
type minutes [(perDay + 63) / 64]uint64

// fill adds the minutes from from up to, but not including, to.
func (m *minutes) fill(from, to int) {
	for ; from < to && from%64 != 0; from++ {
		m[from/64] |= 1 << (from % 64)
	}
	for ; from+64 <= to; from += 64 {
		m[from/64] = ^uint64(0)
	}
	for ; from < to; from++ {
		m[from/64] |= 1 << (from % 64)
	}
}

func (m *minutes) has(minute int) bool { return m[minute/64]&(1<<(minute%64)) != 0 }

// A Recurrence is a period that starts at the times of a schedule, in UTC, and lasts whole minutes. It is computed
// day by day, so that the cost of a year does not depend on how often the period starts.
type Recurrence struct {
	*cron.SpecSchedule
	lasts  int     // minutes
	active minutes // on a day on which the period starts, because of the starts on this day
	last   int     // minute of the last start on such a day
}

// Recur reads the schedule of a period. A part of a minute counts as a whole one.
func Recur(text string, lasts time.Duration) (Recurrence, error) {
	s, err := Parse(text)
	if err != nil {
		return Recurrence{}, err
	}
	r := Recurrence{SpecSchedule: s, lasts: int((lasts + time.Minute - 1) / time.Minute)}
	end := 0
	for minute := range perDay {
		if s.Hour&(1<<(minute/60)) != 0 && s.Minute&(1<<(minute%60)) != 0 {
			r.active.fill(max(minute, end), min(minute+r.lasts, perDay))
			r.last, end = minute, min(minute+r.lasts, perDay)
		}
	}
	return r, nil
}

// startsOn reports whether the period starts on a day, as cron decides it: if both the day of the month and the day
// of the week are restricted, one of them is enough.
func (r Recurrence) startsOn(at time.Time) bool {
	if r.Month&(1<<at.Month()) == 0 {
		return false
	}
	ofMonth, ofWeek := r.Dom&(1<<at.Day()) != 0, r.Dow&(1<<at.Weekday()) != 0
	if r.Dom&starBit != 0 || r.Dow&starBit != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// reach returns for how many minutes of a day the periods last that started on earlier days.
func (r Recurrence) reach(today time.Time) int {
	for back := 1; back <= 1+(r.last+r.lasts)/perDay; back++ {
		if r.startsOn(today.AddDate(0, 0, -back)) {
			return r.last + r.lasts - back*perDay
		}
	}
	return 0
}

// Changes returns, for several sets of periods, in which of them a period is active: at a time, and at each later
// minute before a limit at which that changes. The result is valid until the next one.
func Changes(sets [][]Recurrence, from, limit time.Time) iter.Seq2[time.Time, []bool] {
	from, limit = from.UTC(), limit.UTC()
	return func(yield func(time.Time, []bool) bool) {
		reach := make([][]int, len(sets))
		today := from.Truncate(day)
		for i, periods := range sets {
			for _, r := range periods {
				reach[i] = append(reach[i], r.reach(today))
			}
		}
		active, is, first := make([]bool, len(sets)), make([]minutes, len(sets)), true
		for ; today.Before(limit); today = today.Add(day) {
			for i, periods := range sets {
				is[i] = minutes{}
				for j, r := range periods {
					is[i].fill(0, min(reach[i][j], perDay))
					reach[i][j] -= perDay
					if !r.startsOn(today) {
						continue
					}
					for word, of := range r.active {
						is[i][word] |= of
					}
					reach[i][j] = max(reach[i][j], r.last+r.lasts-perDay)
				}
			}
			minute := 0
			if first {
				minute = int(from.Sub(today) / time.Minute)
			}
			for ; minute < perDay; minute++ {
				changed := first
				for i := range sets {
					if on := is[i].has(minute); on != active[i] {
						active[i], changed = on, true
					}
				}
				if !changed {
					minute = lastUnchanged(is, active, minute)
					continue
				}
				at := today.Add(time.Duration(minute) * time.Minute)
				if first {
					first, at = false, from
				}
				if !at.Before(limit) || !yield(at, active) {
					return
				}
			}
		}
	}
}

// Opens returns the first minute from now on in which a window is open and no freeze is active. Without windows, one is
// always open. It is the zero time if that is not within a year.
func Opens(windows, freezes []Recurrence, now time.Time) time.Time {
	for at, active := range Changes([][]Recurrence{windows, freezes}, now, now.Add(Year)) {
		if (active[0] || len(windows) == 0) && !active[1] {
			return at
		}
	}
	return time.Time{}
}

// lastUnchanged returns the last minute until which no set changes, at most the last one in the same word as minute.
func lastUnchanged(is []minutes, active []bool, minute int) int {
	word, same := minute/64, 64-minute%64-1
	for i := range is {
		changes := is[i][word]
		if active[i] {
			changes = ^changes
		}
		same = min(same, bits.TrailingZeros64(changes>>(minute%64))-1)
	}
	return minute + max(same, 0)
}
