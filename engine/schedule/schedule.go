// Package schedule reads the schedules of budgets, windows and freezes as Karpenter reads those of budgets, and
// writes their durations.
package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/utils/clock"
)

// Parse reads the schedule of a budget, in UTC, as Karpenter does (v1.15.0, Budget.IsActive). The error
// names the field that is invalid.
func Parse(text string) (*cron.SpecSchedule, error) {
	s, err := parseCron(text)
	if strings.HasPrefix(text, "@every") {
		return nil, fmt.Errorf("%q depends on when it is evaluated", text)
	}
	if err == nil || strings.HasPrefix(text, "@") {
		return s, err
	}
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return nil, fmt.Errorf("%q does not have 5 fields (minute, hour, day of the month, month, day of the week)", text)
	}
	for i, field := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = field
		if _, invalid := parseCron(strings.Join(alone, " ")); invalid != nil {
			return nil, fmt.Errorf("%q is not a valid %s", field, cronFields[i])
		}
	}
	return nil, err
}

// EitherDay explains on which days a schedule starts that names days of the month and days of the week: cron needs
// one of them, not both. It is "" for other schedules.
func EitherDay(text string) string {
	const any = 1 << 63 // the star of a field, in the library
	s, err := Parse(text)
	fields := strings.Fields(text)
	if err != nil || len(fields) != len(cronFields) || s.Dom&any != 0 || s.Dow&any != 0 {
		return ""
	}
	return fmt.Sprintf("%q starts on each day of the month that %q names, and also on each day of the week that %q names, because cron "+
		"needs only one of them. Write \"*\" for one of the two fields.", text, fields[2], fields[4])
}

var cronFields = [...]string{
	"minute (0 to 59)", "hour (0 to 23)", "day of the month (1 to 31)", "month (1 to 12 or jan to dec)",
	"day of the week (0 to 6 or sun to sat)",
}

// parseCron reads a schedule. The parser panics on a few texts that the CRD allows; here these are errors.
func parseCron(text string) (s *cron.SpecSchedule, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s, err = nil, fmt.Errorf("%v", cause)
		}
	}()
	read, err := cron.ParseStandard("TZ=UTC " + text)
	s, _ = read.(*cron.SpecSchedule) // not @every
	return s, err
}

// ClockAt returns a clock that always shows the same time, for Karpenter's functions that read the time. It
// has no timers.
func ClockAt(at time.Time) clock.Clock { return clockAt{at: at} }

type clockAt struct {
	clock.Clock
	at time.Time
}

func (c clockAt) Now() time.Time                  { return c.at }
func (c clockAt) Since(t time.Time) time.Duration { return c.at.Sub(t) }
