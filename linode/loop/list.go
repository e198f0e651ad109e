package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lkeplan/lkeplan/schemas/task"
)

// List keeps the last list of machines and shares the next list among all callers. It is safe for concurrent use.
type List[T any] struct {
	log *slog.Logger
	ask func(context.Context) error

	mu    sync.Mutex
	last  T
	asked time.Time // when the request for last was sent: earlier changes are in it
	ended time.Time // when the last shared list ended

	next singleflight.Group // the list for callers who need a newer one
}

// ListEvery is the time between two shared lists. Lists of a Loop's own steps do not count and need not wait.
const ListEvery = 2 * time.Second

// listTimeout is how long callers wait for a list. If the rate limit is exhausted, they get an error.
const listTimeout = 30 * time.Second

// NewList returns a List without an answer. ask must request a list, and pass the answer to Put.
func NewList[T any](log *slog.Logger, ask func(context.Context) error) *List[T] {
	return &List[T]{log: log, ask: ask}
}

// Put stores the answer to a request that was sent at a time, and reports whether it is newer than the stored one.
func (l *List[T]) Put(asked time.Time, shown T) (newer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !asked.After(l.asked) {
		return false
	}
	l.last, l.asked = shown, asked
	return true
}

// Last returns the last answer, and when it was requested: the zero time before the first answer.
func (l *List[T]) Last() (shown T, asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.asked
}

// Since returns the list of a time or later. If the last list is older, it waits for the next one, which all
// waiting callers share. There is at most one list every two seconds for any number of callers.
func (l *List[T]) Since(ctx context.Context, notBefore time.Time) (shown T, err error) {
	for {
		if last, known, _ := l.since(notBefore); known {
			return last, nil
		}
		next := l.next.DoChan("", func() (any, error) { return nil, l.make(context.WithoutCancel(ctx), notBefore) })
		select {
		case <-ctx.Done():
			return shown, ctx.Err()
		case made := <-next:
			if made.Err != nil {
				return shown, made.Err
			}
		}
	}
}

// make waits until the next list is due, and requests it. It does nothing if there is a list of notBefore or later: that
// may have ended between the caller's check and this call.
func (l *List[T]) make(ctx context.Context, notBefore time.Time) error {
	_, known, due := l.since(notBefore)
	if !known {
		time.Sleep(time.Until(due))
		_, known, _ = l.since(notBefore)
	}
	if known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err := task.Try(l.log, func() error { return l.ask(ctx) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = time.Now()
	return err
}

// since returns the last list, whether it is of a time or later, and when the next one is due.
func (l *List[T]) since(notBefore time.Time) (last T, known bool, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due = l.ended
	if l.asked.After(due) {
		due = l.asked
	}
	return l.last, !l.asked.IsZero() && !l.asked.Before(notBefore), due.Add(ListEvery)
}
