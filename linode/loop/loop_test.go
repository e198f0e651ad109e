package loop

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/schemas/task"
)

// TestWhenAStepIsDue: at the start, when the last step says, and sooner when the loop is woken.
func TestWhenAStepIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := New[int](slog.New(slog.DiscardHandler), 200*time.Millisecond), time.Now()
		var steps []time.Duration
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			l.Run(ctx, func(context.Context) time.Duration {
				steps = append(steps, time.Since(began))
				return time.Minute
			})
			close(ended)
		}()
		at := func(after time.Duration, do func()) {
			time.Sleep(after - time.Since(began))
			do()
		}
		at(10*time.Second, l.Wake)
		at(10*time.Second+100*time.Millisecond, l.Wake) // the step that is due serves it, too
		at(20*time.Second, l.WakeNow)
		at(30*time.Second, l.Wake)
		at(30*time.Second+50*time.Millisecond, l.WakeNow)
		at(100*time.Second, func() {})
		done := false
		l.Go(func() { time.Sleep(time.Hour); done = true })
		stop()
		<-ended
		if !done {
			t.Error("the loop ended before its work")
		}
		want := []time.Duration{
			0, 10*time.Second + 200*time.Millisecond, 20 * time.Second, 30*time.Second + 50*time.Millisecond,
			90*time.Second + 50*time.Millisecond,
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	})
}

// TestWaitingCallersShareOneList, the next comes two seconds after it, and a list of others that comes first will do.
func TestWaitingCallersShareOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		var refuse error
		began := time.Now()
		var l *List[int]
		l = NewList[int](slog.New(slog.DiscardHandler), func(context.Context) error {
			now := time.Now()
			asked = append(asked, time.Since(began))
			time.Sleep(10 * time.Millisecond)
			if refuse == nil {
				l.Put(now, len(asked))
			}
			return refuse
		})
		wants := func(notBefore time.Time, want int) {
			t.Helper()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if got, err := l.Since(t.Context(), notBefore); got != want || err != refuse {
						t.Errorf("%d, %v; want %d", got, err, want)
					}
				})
			}
			all.Wait()
		}
		wants(time.Now(), 1)
		wants(time.Now().Add(-time.Second), 1) // what was shown a while ago
		time.Sleep(time.Second)
		go func() { time.Sleep(500 * time.Millisecond); l.Put(time.Now(), 7) }()
		wants(time.Now(), 7)
		_, at := l.Last()
		if err := l.make(t.Context(), at); err != nil { // as a caller that saw the list before it ended, and comes after
			t.Error(err)
		}
		time.Sleep(time.Hour)
		refuse = errors.ErrUnsupported
		wants(time.Now(), 0)
		if shown, _ := l.Last(); shown != 7 || l.Put(began, 8) {
			t.Errorf("%d is shown, or an older list was taken", shown)
		}
		if want := []time.Duration{0, time.Hour + 2010*time.Millisecond}; !cmp.Equal(want, asked) {
			t.Errorf("lists at %v, want %v", asked, want)
		}
	})
}

// TestPanicEndsOnlyItsStep: a step comes again after a while, other work continues, and those who wait for a
// list get the error.
func TestPanicEndsOnlyItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		l, began := New[int](log, 200*time.Millisecond), time.Now()
		var steps []time.Duration
		worked := false
		ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
		defer stop()
		l.Run(ctx, func(context.Context) time.Duration {
			if steps = append(steps, time.Since(began)); len(steps) == 1 {
				l.Go(func() { panic("assignment to entry in nil map") })
				l.Go(func() { worked = true })
				panic("nil pointer dereference")
			}
			return time.Hour
		})
		if d := cmp.Diff([]time.Duration{0, 10 * time.Second}, steps); d != "" || !worked {
			t.Errorf("other work was done: %v; steps (-want +got):\n%s", worked, d)
		}
		asked := 0
		list := NewList[int](log, func(context.Context) error {
			if asked++; asked == 1 {
				panic("nil pointer dereference")
			}
			return nil
		})
		if _, err := list.Since(t.Context(), time.Now()); !task.Panicked(err) {
			t.Errorf("those who wait for a list get %v", err)
		}
		ctx, stop = context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		rounds := 0
		Every(ctx, log, 25*time.Second, "look", func(context.Context) error {
			rounds++
			panic("nil pointer dereference")
		})
		if rounds != 3 {
			t.Errorf("%d rounds in a minute", rounds)
		}
	})
}
