//go:build !linux

package configtest

import "time"

// CPU returns the elapsed time of a function, because the CPU time of a thread is not available
// here.
func CPU(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// ProcessCPU returns the elapsed time of a function.
func ProcessCPU(do func()) time.Duration { return CPU(do) }
