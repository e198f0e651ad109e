package isolate

import (
	"fmt"
	"syscall"
)

// childAttributes puts a child into a separate process group, and ends it with its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limitResources limits the resources of this process, memory in bytes. RLIMIT_DATA counts writable mappings,
// but not the address space that Go's runtime reserves. A child writes no files.
func limitResources(memory uint64) error {
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_DATA: memory, syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: 256,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit the resources of a child process: %w", err)
		}
	}
	return nil
}
