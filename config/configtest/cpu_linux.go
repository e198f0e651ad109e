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
	before := timeOf(rusageThread)
	do()
	return timeOf(rusageThread) - before
}

// ProcessCPU returns the processor time that the whole process takes while a function runs:
// what it does in other goroutines, and the garbage collector, are counted.
func ProcessCPU(do func()) time.Duration {
	before := timeOf(syscall.RUSAGE_SELF)
	do()
	return timeOf(syscall.RUSAGE_SELF) - before
}

func timeOf(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		panic(err) // only a pointer could be wrong
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
