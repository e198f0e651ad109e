package sim

import (
	"slices"
	"time"
)

// agenda has the future events in their order. Nothing runs in the background: each read of the state first runs
// the events that are due, each at its own time, so that ids and peaks do not depend on when the state is read.
type agenda struct{ events []event }

type event struct {
	at time.Time
	do func(at time.Time)
}

// plan schedules do for a time, or, if that is in the past, for the next read of the state. Events of the same time
// run in the order in which they were planned.
func (a *agenda) plan(at time.Time, do func(at time.Time)) {
	n, _ := slices.BinarySearchFunc(a.events, at, func(e event, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	a.events = slices.Insert(a.events, n, event{at, do})
}

// run runs the events that are due, including those that they plan.
func (a *agenda) run(now time.Time) {
	for len(a.events) > 0 && !a.events[0].at.After(now) {
		e := a.events[0]
		a.events = a.events[1:]
		e.do(e.at)
	}
}

// next returns the time of the first event; zero if there is none.
func (a *agenda) next() time.Time {
	if len(a.events) == 0 {
		return time.Time{}
	}
	return a.events[0].at
}
