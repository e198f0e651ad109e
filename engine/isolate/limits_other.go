//go:build !linux

package isolate

import (
	"errors"
	"syscall"
)

func apart() *syscall.SysProcAttr { return nil }

// limit refuses to run a child on a system that cannot confine it.
func limit(uint64) error {
	return errors.New("external input is read in confined processes, which only Linux supports")
}
