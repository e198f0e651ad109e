package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstCollection is how much memory the program may have before the garbage
// collector runs at all, in bytes. Most commands end before that; with the usual
// settings, they would spend a third of their time on it.
const firstCollection = 192 << 20

// collectLate sets the garbage collector so, unless the environment has set it.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(firstCollection)
	runtime.AddCleanup(new(sentinel), func(usual int64) { // by the first collection
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(usual)
	}, limit)
}

// A sentinel is collected by the first run of the garbage collector.
type sentinel struct{ _ [64]byte }
