//go:build !linux

package configtest

import "time"

// CPU returns the time that a function takes by the clock: there is no count of
// a thread's processor time here.
func CPU(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// ProcessCPU returns the time that a function takes.
func ProcessCPU(do func()) time.Duration { return CPU(do) }
