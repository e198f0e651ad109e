// Package window says when changes may begin: in change windows, where there are any, and
// outside of freezes.
//
// It is pure, and knows neither plans nor clusters: periods and a moment go in.
package window

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan/pace"
)

// Opens is the first moment from now on at which one of the windows is open and none of
// the freezes lasts. Without windows they are always open. It is the zero time where that
// is never, within a year.
func Opens(windows, freezes []config.Period, now time.Time) (time.Time, error) {
	open, err := timetablesOf(windows)
	if err != nil {
		return time.Time{}, err
	}
	frozen, err := timetablesOf(freezes)
	if err != nil {
		return time.Time{}, err
	}
	at := now.UTC()
	for end, turns := at.AddDate(1, 0, 0), 0; !at.IsZero() && at.Before(end) && turns < pace.MostTurns; turns++ {
		next := thaws(frozen, at)
		if next.Equal(at) {
			next = opens(open, at)
		}
		if next.Equal(at) {
			return at, nil
		}
		at = next
	}
	return time.Time{}, nil
}

// Lasts returns until when a period lasts that has begun, and may begin again before it
// has ended; the zero time where it does not last now.
func Lasts(p config.Period, now time.Time) (time.Time, error) {
	all, err := timetablesOf([]config.Period{p})
	if err != nil {
		return time.Time{}, err
	}
	if until := thaws(all, now.UTC()); until.After(now) {
		return until, nil
	}
	return time.Time{}, nil
}

// A timetable is when a period recurs, and for how long it lasts each time.
type timetable struct {
	cron.Schedule
	lasts time.Duration
}

func timetablesOf(periods []config.Period) (all []timetable, err error) {
	for _, p := range periods {
		schedule, err := pace.ParseSchedule(p.Schedule)
		if err != nil {
			return nil, fmt.Errorf("read the schedule of %q: %w", p.Name, err)
		}
		all = append(all, timetable{schedule, p.Duration})
	}
	return all, nil
}

// began is when a period began that lasts at a moment; the zero time where none does. The
// moment at which it ends is not in it.
func (t timetable) began(at time.Time) time.Time {
	if began := t.Next(at.Add(-t.lasts)); !began.IsZero() && !began.After(at) {
		return began
	}
	return time.Time{}
}

// thaws is the first moment from at on, at which none of the periods lasts.
func thaws(periods []timetable, at time.Time) time.Time {
	for range pace.MostTurns {
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

// opens is the first moment from at on, at which one of the periods lasts; at itself
// where there are none, and the zero time where that is never.
func opens(periods []timetable, at time.Time) (first time.Time) {
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
