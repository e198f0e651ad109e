// Command lkeplan compiles, checks and applies node pools for LKE, written as
// HCL. Each command is a file of its own.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() { os.Exit(program()) }

// program is the whole program; it returns the exit code.
func program() int {
	collectLate()
	klog.SetLogger(logr.Discard()) // what libraries log, errors say
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	defer stop()
	return run(ctx, os.Args[1:], processEnv())
}

// The garbage collector runs when the heap is three times what lives, and at the
// latest when the program has softLimit bytes. With the usual settings a command spends a
// third of its time on it; without any collection it spends more than that on memory it
// touches for the first time, which is dear where the machine is a virtual one.
const (
	collectAt = 200 // in percent of what lives, as GOGC
	softLimit = 240 << 20
)

// collectLate sets the garbage collector so, unless the environment has set it.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(collectAt)
	adjustLimit()
}

// adjustLimit limits the memory to softLimit, as long as half of that is enough for what lives; from
// then on to twice of it, which is when the collector usually runs.
func adjustLimit() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(int64(max(softLimit, 2*live[0].Value.Uint64())))
	runtime.AddCleanup(new(collected), func(struct{}) { adjustLimit() }, struct{}{}) // by the next collection
}

// A collected is collected by the next run of the garbage collector.
type collected struct{ _ [64]byte }
