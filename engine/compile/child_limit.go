package compile

import (
	"fmt"
	"strconv"
	"syscall"
)

// limitMemory bounds what this process may write to. RLIMIT_DATA counts what is
// mapped for writing, and not the address space that Go's runtime reserves.
func limitMemory(text string) error {
	if text == "" {
		return nil
	}
	most, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryVar, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}
