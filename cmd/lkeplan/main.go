// Command lkeplan compiles, checks and applies node pools for LKE, written as
// HCL. Each command is in a separate file.
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

// program runs lkeplan and returns the exit code.
func program() int {
	collectLate()
	klog.SetLogger(logr.Discard()) // libraries log what errors report
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	defer stop()
	return run(ctx, os.Args[1:], processEnv())
}

// The garbage collector runs when the heap is five times the live heap, and at the latest
// when the program has softLimit bytes. With the default settings, a command spends a third of
// its time on it. Without any collection, it spends more on page faults, which are expensive in
// virtual machines.
const (
	collectAt = 400 // percent of the live heap, as GOGC
	softLimit = 240 << 20
)

// collectLate sets the garbage collector, unless the environment has set it.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(collectAt)
	adjustLimit()
}

// adjustLimit limits the memory to softLimit, or to twice the live heap if that is more: then the
// collector runs as by default.
func adjustLimit() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(int64(max(softLimit, 2*live[0].Value.Uint64())))
	runtime.AddCleanup(new(collected), func(struct{}) { adjustLimit() }, struct{}{}) // at the next collection
}

// A collected value is freed by the next run of the garbage collector.
type collected struct{ _ [64]byte }
