package plan

import (
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/schedule"
)

// WindowOpens returns the first minute from now on in which a window is open and no freeze is active: the one
// decision about when a change that touches nodes is applied. Without windows, one is always open. It is the zero
// time if that is not within a year.
func WindowOpens(windows, freezes []config.Period, now time.Time) (time.Time, error) {
	open, err := recurrencesOf(windows)
	if err != nil {
		return time.Time{}, err
	}
	frozen, err := recurrencesOf(freezes)
	if err != nil {
		return time.Time{}, err
	}
	return schedule.Opens(open, frozen, now), nil
}

func recurrencesOf(periods []config.Period) (all []schedule.Recurrence, err error) {
	for _, p := range periods {
		read, err := schedule.Recur(p.Schedule, p.Duration)
		if err != nil {
			return nil, fmt.Errorf("%s: read the schedule %q: %w", p.Name, p.Schedule, err)
		}
		all = append(all, read)
	}
	return all, nil
}
