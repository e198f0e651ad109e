//go:build !linux

package confine

import (
	"errors"
	"syscall"
)

// errNotHere refuses to start a child that nothing would hold.
var errNotHere = errors.New("what comes from outside is read in confined processes, which only Linux has")

func apart() *syscall.SysProcAttr { return nil }

func limit(uint64) error { return errNotHere }

func filterCalls(bool) error { return errNotHere }

func (Child) restrictThread(string) error { return errNotHere }

// Landlock returns 0: it is of Linux.
func Landlock() int { return 0 }
