// Package loop runs a decision again and again, in LKE mode and in instance mode: Loop.Run calls a step, which
// decides and starts work with Loop.Go. A panic in the work for one NodeClaim or one group of node pools becomes an
// error, because it would otherwise end the controller, and again after each start.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Error is a recovered panic. The log has its stack.
type Error struct{ Cause any }

func (e *Error) Error() string {
	return fmt.Sprintf("a bug in lkeplan, with details in the log: %v", e.Cause)
}

// Is reports whether an error is a recovered panic.
func Is(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// Catch must be deferred. If the function panics, it logs the panic and sets the error that the function returns.
func Catch(log *slog.Logger, err *error) {
	if cause := recover(); cause != nil {
		log.Error("a bug in lkeplan", "cause", cause, "stack", string(debug.Stack()))
		*err = &Error{cause}
	}
}

// Every runs do immediately and then at this interval until ctx ends. It logs errors and panics.
func Every(ctx context.Context, log *slog.Logger, every time.Duration, what string, do func(context.Context) error) {
	for ctx.Err() == nil {
		if err := Try(log, func() error { return do(ctx) }); err != nil && ctx.Err() == nil {
			log.Warn("cannot "+what, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// Try calls do, and returns its error; a panic becomes an error.
func Try(log *slog.Logger, do func() error) (err error) {
	defer Catch(log, &err)
	return do()
}
