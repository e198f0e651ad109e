package during

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // images of controllers have no time zones

	"github.com/robfig/cron/v3"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// window is a during block that has been read.
type window struct {
	manifest.DuringWindow
	clock cron.Schedule // of the clock in the zone, as if it were UTC
	zone  *time.Location
	lasts time.Duration
}

// ErrZone is the error about a time zone.
var ErrZone = errors.New("not a known time zone")

// ErrDuration is the error about a duration.
var ErrDuration = errors.New("not a valid duration")

// longest is the longest duration of a window.
const longest = 366 * 24 * time.Hour

// Check returns what is wrong with the schedule, the time zone or the duration of a during block; nil if nothing is.
// Errors about the time zone are ErrZone, those about the duration ErrDuration.
func Check(w manifest.DuringWindow) error {
	read, err := read(w)
	if err == nil && read.clock.Next(epoch).IsZero() {
		return fmt.Errorf("%q names a day that does not exist, so its values never apply", w.Schedule)
	}
	return err
}

func read(w manifest.DuringWindow) (window, error) {
	r := window{DuringWindow: w, zone: time.UTC}
	var err error
	if strings.HasPrefix(w.Schedule, "@every") {
		return r, fmt.Errorf("%q depends on when it is evaluated; write minutes and hours", w.Schedule)
	}
	if strings.Contains(w.Schedule, "TZ=") {
		return r, fmt.Errorf("%q contains a time zone; set it with time_zone", w.Schedule)
	}
	if r.clock, err = ParseSchedule(w.Schedule); err != nil {
		return r, err
	}
	if r.lasts, err = time.ParseDuration(w.Duration); err != nil || r.lasts < time.Second || r.lasts > longest {
		return r, fmt.Errorf("%q is %w: write a time from 1s to 8784h (366 days), such as 10h", w.Duration, ErrDuration)
	}
	if w.TimeZone == "" {
		return r, nil
	}
	if r.zone, err = time.LoadLocation(w.TimeZone); err != nil || r.zone == time.Local {
		return r, fmt.Errorf("%q is %w: write a name of the time zone database, such as Europe/Berlin or UTC", w.TimeZone, ErrZone)
	}
	return r, nil
}

// most is how far the clocks of a zone change at most; a change of the date line is not a change of the clock.
const most = 3 * time.Hour

// starts returns the first start after a time; the zero time if there is none.
func (w window) starts(after time.Time) time.Time {
	at := wall(after.In(w.zone))
	if w.zone != time.UTC {
		at = at.Add(-most)
	}
	for {
		if at = w.clock.Next(at); at.IsZero() {
			return at
		}
		if start := instant(at, w.zone); start.After(after) {
			return start
		}
	}
}

// start is when the window that is active at a time started: of several starts within the duration, the first. It is
// the zero time if the window is not active. Its end is exclusive.
func (w window) start(at time.Time) time.Time {
	if start := w.starts(at.Add(-w.lasts)); !start.IsZero() && !start.After(at) {
		return start
	}
	return time.Time{}
}

// turn is the first time after a time at which the window starts or may end.
func (w window) turn(at time.Time) time.Time {
	next := w.starts(at)
	if start := w.start(at); !start.IsZero() {
		if end := start.Add(w.lasts); next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next
}

// wall is what a clock shows, as a time in UTC.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instant is when the clock of a zone first shows a time. If the clock skips it, that is when it skips. The instants of
// later times are not earlier.
func instant(clock time.Time, zone *time.Location) time.Time {
	if zone == time.UTC {
		return clock
	}
	t := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, zone)
	since, until := t.ZoneBounds()
	switch shown := wall(t); {
	case shown.After(clock): // skipped: t is after the change
		return since.UTC()
	case shown.Before(clock): // skipped: t is before the change
		return until.UTC()
	case since.IsZero():
		return t.UTC()
	}
	_, offset := t.Zone()
	_, before := since.Add(-time.Nanosecond).Zone()
	first := t.Add(time.Duration(offset-before) * time.Second) // when the clock showed it before the change
	if first.Before(since) && wall(first.In(zone)).Equal(clock) {
		return first.UTC()
	}
	return t.UTC()
}
