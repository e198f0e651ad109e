package stack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is the time between two polls.
const pollEvery = 50 * time.Millisecond

// errExited ends a poll if the polled process has ended.
var errExited = errors.New("the process ended")

// poll calls ready until it returns nil. It stops if the context ends or gone is closed; the error then has the
// last answer.
func poll(ctx context.Context, gone <-chan struct{}, ready func(context.Context) error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-gone:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}
