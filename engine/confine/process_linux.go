package confine

import (
	"fmt"
	"syscall"
)

// apart has a child be in a group of its own, and end with its parent.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limit bounds what this process may take, memory in bytes. RLIMIT_DATA counts what is
// mapped for writing, and not the address space that Go's runtime reserves.
func limit(memory uint64) error {
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_DATA: memory, syscall.RLIMIT_FSIZE: maxFile, syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: 256,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit what a child may take: %w", err)
		}
	}
	return nil
}
