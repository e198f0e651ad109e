package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestABugIsAnErrorOfItsItem, and the other items are done.
func TestABugIsAnErrorOfItsItem(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	done := make(chan int, 3)
	err := Each(log, 1, []int{1, 2, 3}, func(n int) error {
		if n == 2 {
			panic("assignment to entry in nil map")
		}
		done <- n
		return nil
	})
	if !Is(err) || len(done) != 2 {
		t.Errorf("%d items were done, and the error is %v", len(done), err)
	}
	if err := fmt.Errorf("no bug: %w", errors.ErrUnsupported); Is(err) {
		t.Errorf("%v is taken for a bug", err)
	}
}
