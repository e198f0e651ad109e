// Package timing reads the schedules of budgets, windows and freezes as Karpenter does, and
// shows Karpenter's functions a moment of our choice. It knows no plan and no pool.
package timing

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/utils/clock"
)

// MostTurns bounds the work on schedules that begin or end each minute.
const MostTurns = 20_000

// ParseSchedule reads the schedule of a budget, in UTC, as Karpenter does
// (v1.14.1, Budget.IsActive). The parser that it uses panics on a few texts that
// the CRD lets through; here they are errors.
func ParseSchedule(text string) (s cron.Schedule, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s, err = nil, fmt.Errorf("%v", cause)
		}
	}()
	return cron.ParseStandard("TZ=UTC " + text)
}

// ClockAt is a clock that always shows one moment, for Karpenter's functions that
// ask for the time. It cannot wait: it has no timers.
func ClockAt(at time.Time) clock.Clock { return clockAt{at: at} }

type clockAt struct {
	clock.Clock
	at time.Time
}

func (c clockAt) Now() time.Time                  { return c.at }
func (c clockAt) Since(t time.Time) time.Duration { return c.at.Sub(t) }

// WriteDuration writes a duration without units of which it has none: 8h.
func WriteDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
