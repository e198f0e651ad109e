// Package process starts, identifies and ends processes of the operating system. Start starts a process that
// outlives this one, Guard.Start one that does not, and Identity.End ends a process.
//
// A pid does not identify a process: the kernel reuses the number once the process is gone. Therefore everything
// that sends a signal takes an Identity: a pid together with the start time of the process. The package does not
// know what the processes do; package stack does.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrGone means that no process with this identity is running any more.
var ErrGone = errors.New("process is gone")

// pollEvery is how often to check whether a process that is not our child has
// ended: there is no portable way to be notified.
const pollEvery = 10 * time.Millisecond

// Identity identifies one process during its life and afterwards.
type Identity struct {
	PID int `json:"pid"`
	// Start is the start time of the process in the format of the operating system. It is only compared.
	Start string `json:"start"`
}

// Identify returns the identity of the running process with a pid. If there is none, the error is ErrGone; a
// process that has ended and waits to be reaped counts as gone.
func Identify(pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, ErrGone
	}
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start}, nil
}

// Alive reports whether the identified process still runs.
func (id Identity) Alive() bool {
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// Signal sends sig to the process. If the pid belongs to another process by now, it returns ErrGone and sends
// nothing.
func (id Identity) Signal(sig syscall.Signal) error {
	// The handle is taken before the check: on Linux it is a pidfd, which cannot refer to another process between
	// the check and the signal.
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", id.PID, err)
	}
	defer handle.Release()
	if !id.Alive() {
		return ErrGone
	}
	err = handle.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// Wait returns nil when the process has ended, or the context's error.
func (id Identity) Wait(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// End asks the process to stop, waits for the grace period, and then kills it. A process that is already gone is no
// error.
func (id Identity) End(ctx context.Context, grace time.Duration) error {
	for _, try := range []struct {
		signal syscall.Signal
		within time.Duration
	}{
		{syscall.SIGTERM, grace},
		{syscall.SIGKILL, 20 * time.Second}, // a process cannot ignore it, but the kernel may take a moment
	} {
		if err := id.Signal(try.signal); err != nil {
			if errors.Is(err, ErrGone) {
				return nil
			}
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, try.within)
		err := id.Wait(waiting)
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("process %d is still there after SIGKILL", id.PID)
}
