// Package memory says when the garbage collector of a command runs: late, as a command ends
// soon, and in bounded memory. It knows nothing of what the command does.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector runs when the heap is three times what lives, and at the
// latest where the program has roomy bytes. With the usual settings a command spends a
// third of its time on it; without any collection it spends more than that on memory it
// touches for the first time, which is dear where the machine is a virtual one.
const (
	collectAt = 200 // in percent of what lives, as GOGC
	roomy     = 240 << 20
)

// CollectLate sets the garbage collector so, unless the environment has set it.
func CollectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(collectAt)
	heed()
}

// heed limits the memory to roomy, as long as half of that is enough for what lives; from
// then on to twice of it, which is when the collector usually runs.
func heed() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(int64(max(roomy, 2*live[0].Value.Uint64())))
	runtime.AddCleanup(new(sentinel), func(struct{}) { heed() }, struct{}{}) // by the next collection
}

// A sentinel is collected by the next run of the garbage collector.
type sentinel struct{ _ [64]byte }
