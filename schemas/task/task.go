// Package task runs work in which a panic becomes an error. Otherwise a panic in the work for one NodeClaim, group of
// node pools or NodePlan would end the process, and again after each start. Every package can use it.
package task

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Error is a recovered panic. The log has its stack.
type Error struct{ Cause any }

func (e *Error) Error() string {
	return fmt.Sprintf("a bug in lkeplan, with details in the log: %v", e.Cause)
}

// Panicked reports whether an error is a recovered panic.
func Panicked(err error) bool {
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

// Try calls do, and returns its error; a panic becomes an error.
func Try(log *slog.Logger, do func() error) (err error) {
	defer Catch(log, &err)
	return do()
}

// Each calls do for each item, at most limit at once, and returns the error of each item. A panic becomes the error of
// its item.
func Each[T any](log *slog.Logger, limit int, items []T, do func(i int, item T) error) []error {
	errs := make([]error, len(items))
	free := make(chan struct{}, limit)
	var running sync.WaitGroup
	for i, item := range items {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			errs[i] = Try(log, func() error { return do(i, item) })
		})
	}
	running.Wait()
	return errs
}
