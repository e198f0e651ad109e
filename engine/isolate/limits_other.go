//go:build !linux

package isolate

import (
	"errors"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

// limitResources refuses to run a child on a system that cannot confine it.
func limitResources(uint64) error {
	return errors.New("external input is read in confined processes, which only Linux supports")
}
