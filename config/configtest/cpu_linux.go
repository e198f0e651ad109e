package configtest

import (
	"runtime"
	"syscall"
	"time"
)

// rusageThread makes getrusage(2) count only the calling thread; package syscall does not define
// it.
const rusageThread = 1

// CPU returns the CPU time of a function on the thread that calls it, which does not depend on
// other load. It does not count other goroutines or the garbage collector.
func CPU(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := timeOf(rusageThread)
	do()
	return timeOf(rusageThread) - before
}

// ProcessCPU returns the CPU time of the whole process while a function runs, including other
// goroutines and the garbage collector.
func ProcessCPU(do func()) time.Duration {
	before := timeOf(syscall.RUSAGE_SELF)
	do()
	return timeOf(syscall.RUSAGE_SELF) - before
}

func timeOf(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		panic(err) // only an invalid pointer is an error
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
