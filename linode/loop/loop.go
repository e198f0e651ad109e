// Package loop runs a decision again and again, in LKE mode and in instance mode: Loop.Run calls a step, which
// decides and starts work with Loop.Go.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/schemas/task"
)

// Loop runs a step repeatedly: after the time that the step returns, or sooner if it is woken. It has the Memory of
// the decisions that the steps make, and runs the work that they start. It is safe for concurrent use.
type Loop[Memory any] struct {
	log    *slog.Logger
	gather time.Duration
	wake   chan struct{} // a step is due soon
	now    chan struct{} // a step is due at once

	work sync.WaitGroup

	mu     sync.Mutex
	memory Memory
}

// New returns a Loop whose Memory is zero, as after a restart. After Wake, it waits for the time gather before a
// step, so that one step can serve several callers.
func New[Memory any](log *slog.Logger, gather time.Duration) *Loop[Memory] {
	return &Loop[Memory]{log: log, gather: gather, wake: make(chan struct{}, 1), now: make(chan struct{}, 1)}
}

// afterBug is the time until the next step after a step that panicked. Its Memory is unchanged, and calls after the
// panic were not started.
const afterBug = 10 * time.Second

// Run runs step until ctx ends, and returns when all started work has ended. step returns the time until the next
// step.
func (l *Loop[Memory]) Run(ctx context.Context, step func(context.Context) time.Duration) {
	defer l.work.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.now:
		case <-l.wake:
			select {
			case <-ctx.Done():
				return
			case <-l.now:
			case <-time.After(l.gather):
			}
		}
		takeToken(l.wake) // this step sees all changes that were signalled until now
		takeToken(l.now)
		next := afterBug
		_ = l.Try(func() error { next = step(ctx); return nil })
		timer.Reset(next)
	}
}

// Wake requests a step soon. It never blocks.
func (l *Loop[Memory]) Wake() { putToken(l.wake) }

// WakeNow requests a step immediately, because no further work for the same step is expected. It never blocks.
func (l *Loop[Memory]) WakeNow() { putToken(l.now) }

// Woken reports whether a step was requested, soon or at once.
func (l *Loop[Memory]) Woken() (soon, now bool) { return len(l.wake) > 0, len(l.now) > 0 }

// putToken signals Run through a channel with room for one token.
func putToken(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// takeToken removes the signal, if there is one.
func takeToken(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// Do reads the Memory, or records an event in it.
func (l *Loop[Memory]) Do(event func(m *Memory, now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	event(&l.memory, time.Now())
}

// Go starts work, for which Run waits. A panic ends only this work.
func (l *Loop[Memory]) Go(work func()) {
	l.work.Go(func() { _ = l.Try(func() error { work(); return nil }) })
}

// Try calls do, and returns its error; a panic becomes an error.
func (l *Loop[Memory]) Try(do func() error) error { return task.Try(l.log, do) }

// Every runs do immediately and then at this interval until ctx ends. It logs errors and panics.
func Every(ctx context.Context, log *slog.Logger, every time.Duration, what string, do func(context.Context) error) {
	for ctx.Err() == nil {
		if err := task.Try(log, func() error { return do(ctx) }); err != nil && ctx.Err() == nil {
			log.Warn("cannot "+what, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}
