//go:build !linux

package confine

import (
	"errors"
	"syscall"
)

// errNotHere refuses to start a child on a system that cannot confine it.
var errNotHere = errors.New("external input is read in confined processes, which only Linux supports")

func apart() *syscall.SysProcAttr { return nil }

func limit(uint64) error { return errNotHere }

func filterCalls(bool) error { return errNotHere }

func (Child) restrictThread(string) error { return errNotHere }

// Landlock returns 0: only Linux has it.
func Landlock() int { return 0 }
