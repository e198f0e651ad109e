package sim

import (
	"slices"
	"time"
)

// agenda holds what is due later, in the order in which it is due. Nothing runs on its own: each read of the state
// first runs what was due by then, each event at its own time, so that ids and peaks do not depend on when
// the state was read.
type agenda struct{ events []event }

type event struct {
	at time.Time
	do func(at time.Time)
}

// plan has do called at that time, or, where that is past already, at the next read of the state. Among events of
// one moment the first that was planned comes first.
func (a *agenda) plan(at time.Time, do func(at time.Time)) {
	n, _ := slices.BinarySearchFunc(a.events, at, func(e event, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	a.events = slices.Insert(a.events, n, event{at, do})
}

// run runs what is due by now. Events that it plans are run as well where they are due.
func (a *agenda) run(now time.Time) {
	for len(a.events) > 0 && !a.events[0].at.After(now) {
		e := a.events[0]
		a.events = a.events[1:]
		e.do(e.at)
	}
}

// next is when the first event is due; zero if there is none.
func (a *agenda) next() time.Time {
	if len(a.events) == 0 {
		return time.Time{}
	}
	return a.events[0].at
}
