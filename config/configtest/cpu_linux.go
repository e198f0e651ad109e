package configtest

import (
	"runtime"
	"syscall"
	"time"
)

// rusageThread has getrusage(2) count the calling thread only; package syscall
// does not name it.
const rusageThread = 1

// CPU returns the processor time that a function takes on the thread that calls
// it: the same on a busy machine as on an idle one. What it does in other
// goroutines is not counted, nor is the garbage collector.
func CPU(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	do()
	return threadTime() - before
}

func threadTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &used); err != nil {
		panic(err) // only a pointer could be wrong
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
