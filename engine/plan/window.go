package plan

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/timing"
)

// WindowOpens is the first moment from now on at which one of the windows is open and none of
// the freezes lasts. Without windows they are always open. It is the zero time where that
// is never, within a year.
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
	for end, turns := at.AddDate(1, 0, 0), 0; !at.IsZero() && at.Before(end) && turns < timing.MostTurns; turns++ {
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

// A recurrence is when a period recurs, and for how long it lasts each time.
type recurrence struct {
	cron.Schedule
	lasts time.Duration
}

func recurrencesOf(periods []config.Period) (all []recurrence, err error) {
	for _, p := range periods {
		schedule, err := timing.ParseSchedule(p.Schedule)
		if err != nil {
			return nil, fmt.Errorf("read the schedule of %q: %w", p.Name, err)
		}
		all = append(all, recurrence{schedule, p.Duration})
	}
	return all, nil
}

// began is when a period began that lasts at a moment; the zero time where none does. The
// moment at which it ends is not in it.
func (t recurrence) began(at time.Time) time.Time {
	if began := t.Next(at.Add(-t.lasts)); !began.IsZero() && !began.After(at) {
		return began
	}
	return time.Time{}
}

// thaws is the first moment from at on, at which none of the periods lasts.
func thaws(periods []recurrence, at time.Time) time.Time {
	for range timing.MostTurns {
		until := at
		for _, p := range periods {
			if began := p.began(at); !began.IsZero() && began.Add(p.lasts).After(until) {
				until = began.Add(p.lasts)
			}
		}
		if until.Equal(at) {
			break
		}
		at = until
	}
	return at
}

// opensAt is the first moment from at on, at which one of the periods lasts; at itself
// where there are none, and the zero time where that is never.
func opensAt(periods []recurrence, at time.Time) (first time.Time) {
	if len(periods) == 0 {
		return at
	}
	for _, p := range periods {
		if !p.began(at).IsZero() {
			return at
		}
		if next := p.Next(at); !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first
}
