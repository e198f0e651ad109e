package lkesim

import (
	"container/heap"
	"time"
)

// agenda holds what is due later, in the order in which it is due. Nothing fires by itself: whoever reads the state
// first settles what was due by then, each event as of its own time, so that ids and peaks do not depend on when
// somebody read the state.
type agenda struct {
	events eventHeap
	seq    int
}

type event struct {
	at  time.Time
	seq int // among events of one moment: the first that was planned comes first
	do  func(at time.Time)
}

// plan has do called at that time, or, where that is past already, as soon as somebody reads the state.
func (a *agenda) plan(at time.Time, do func(at time.Time)) {
	a.seq++
	heap.Push(&a.events, event{at: at, seq: a.seq, do: do})
}

// settle runs what is due by now. Events that it plans are run as well where they are due.
func (a *agenda) settle(now time.Time) {
	for len(a.events) > 0 && !a.events[0].at.After(now) {
		e := heap.Pop(&a.events).(event)
		e.do(e.at)
	}
}

// next is when the first event is due.
func (a *agenda) next() (time.Time, bool) {
	if len(a.events) == 0 {
		return time.Time{}, false
	}
	return a.events[0].at, true
}

// eventHeap implements heap.Interface.
type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}
	return h[i].at.Before(h[j].at)
}

func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
