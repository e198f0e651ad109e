package plan

import (
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/schedule"
)

// WindowOpens is the first time from now on at which a window is open and no freeze is active. Without windows, it is
// always open. It is the zero time if that is not within a year.
func WindowOpens(windows, freezes []config.Period, now time.Time) (time.Time, error) {
	open, err := recurrencesOf(windows)
	if err != nil {
		return time.Time{}, err
	}
	frozen, err := recurrencesOf(freezes)
	if err != nil {
		return time.Time{}, err
	}
	at := now.UTC()
	for end, turns := at.AddDate(1, 0, 0), 0; !at.IsZero() && at.Before(end) && turns < schedule.MostTurns; turns++ {
		next := thaws(frozen, at)
		if next.Equal(at) {
			next = opensAt(open, at)
		}
		if next.Equal(at) {
			return at, nil
		}
		at = next
	}
	return time.Time{}, nil
}

func recurrencesOf(periods []config.Period) (all []schedule.Recurrence, err error) {
	for _, p := range periods {
		read, err := schedule.Recur(p.Schedule, p.Duration)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		all = append(all, read)
	}
	return all, nil
}

// startOf is when the period that is active at a time started; the zero time if none is active. Its end is exclusive.
func startOf(t schedule.Recurrence, at time.Time) time.Time {
	if start := t.Next(at.Add(-t.Lasts)); !start.IsZero() && !start.After(at) {
		return start
	}
	return time.Time{}
}

// thaws is the first time from at on at which no period is active.
func thaws(periods []schedule.Recurrence, at time.Time) time.Time {
	for range schedule.MostTurns {
		until := at
		for _, p := range periods {
			if start := startOf(p, at); !start.IsZero() && start.Add(p.Lasts).After(until) {
				until = start.Add(p.Lasts)
			}
		}
		if until.Equal(at) {
			break
		}
		at = until
	}
	return at
}

// opensAt is the first time from at on at which a period is active; at itself if there are no periods, and the zero time if
// that is never.
func opensAt(periods []schedule.Recurrence, at time.Time) (first time.Time) {
	if len(periods) == 0 {
		return at
	}
	for _, p := range periods {
		if !startOf(p, at).IsZero() {
			return at
		}
		if next := p.Next(at); !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}
