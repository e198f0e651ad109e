package configtest

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The bound of work: what each input of up to 256 KiB may cost, whoever wrote
// it. What it declares is checked besides, object by object.
const (
	maxCPU  = time.Second
	maxHeap = 300 << 20

	perObjectCPU  = 500 * time.Microsecond
	perObjectHeap = 50 << 10
)

// A Cost is what a function took: processor time as CPU counts it, and how much
// larger the heap was at most, garbage included.
type Cost struct {
	CPU  time.Duration
	Heap int64
}

// CostOf measures a function. Nothing else may run in the process.
func CostOf(do func()) Cost {
	runtime.GC()
	before := heap()
	peak := make(chan int64)
	done := make(chan struct{})
	go func() {
		most, tick := before, time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-done:
				peak <- max(most, heap())
				return
			}
		}
	}()
	cpu := CPU(do)
	close(done)
	return Cost{cpu, <-peak - before}
}

func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Within fails a test for which a function costs more than it may. The function
// returns how many objects it has compiled. A busy machine counts up to half as much
// again for the same work, as its processors share caches: that much is allowed, and
// what is over it is measured again.
func Within(t *testing.T, do func() (objects int)) Cost {
	t.Helper()
	var objects int
	run := func() { objects = do() }
	cost := CostOf(run)
	bound := Cost{maxCPU + time.Duration(objects)*perObjectCPU, maxHeap + int64(objects)*perObjectHeap}
	over := func() bool { return cost.CPU > bound.CPU*3/2 || cost.Heap > bound.Heap }
	for range 2 {
		if over() {
			again := CostOf(run)
			cost = Cost{min(cost.CPU, again.CPU), min(cost.Heap, again.Heap)}
		}
	}
	t.Log(cost)
	if over() {
		t.Errorf("it costs %v, and %v is the bound", cost, bound)
	}
	return cost
}

func (c Cost) String() string {
	return fmt.Sprintf("%v, %d MiB", c.CPU.Round(time.Millisecond), c.Heap>>20)
}
