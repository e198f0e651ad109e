package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// List keeps the last list of machines and shares the next list among all callers. It is safe for concurrent use.
type List[T any] struct {
	log *slog.Logger
	ask func(context.Context) error

	mu    sync.Mutex
	last  T
	asked time.Time // when the request for last was sent: what was answered before is in it
	ended time.Time // when the last shared list did

	next singleflight.Group // the list that those wait for who want a newer one
}

// ListEvery is the time between two shared lists. Lists of a Loop's own steps do not count and need not wait.
const ListEvery = 2 * time.Second

// listTimeout bounds how long callers wait for a list. While the rate limit is exhausted they get an error.
const listTimeout = 30 * time.Second

// NewList returns a List before the first answer. Ask is to list, and to Put what it is shown.
func NewList[T any](log *slog.Logger, ask func(context.Context) error) *List[T] {
	return &List[T]{log: log, ask: ask}
}

// Put takes what was shown to a request that was sent then, and reports whether that is newer than what
// was known.
func (l *List[T]) Put(asked time.Time, shown T) (newer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !asked.After(l.asked) {
		return false
	}
	l.last, l.asked = shown, asked
	return true
}

// Last returns what was shown last, and when it was requested: never before the first answer.
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

// make makes a list of a time or later when the next one is due, unless there is one: a caller can find the last list too
// old, and come here only after a newer one has ended.
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
	err := Try(l.log, func() error { return l.ask(ctx) })
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
