package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// firstCollection is how much memory the program may have before the garbage
// collector runs at all, in bytes. Most commands end before that; with the usual
// settings, they would spend a third of their time on it.
const firstCollection = 240 << 20

// collectLate sets the garbage collector so, unless the environment has set it.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	heed()
}

// heed has the collector run at the first limit, as long as half of that is enough for
// what lives; from then on at twice of it, which is when it usually runs.
func heed() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(int64(max(firstCollection, 2*live[0].Value.Uint64())))
	runtime.AddCleanup(new(sentinel), func(struct{}) { heed() }, struct{}{}) // by the next collection
}

// A sentinel is collected by the next run of the garbage collector.
type sentinel struct{ _ [64]byte }
