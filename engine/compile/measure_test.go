package compile_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/config/configtest"
)

// The limit of work for each input of up to 256 KiB by any author. Work for declared objects is
// limited in addition, object by object.
const (
	maxCPU  = time.Second
	maxHeap = 300 << 20

	perObjectCPU  = 500 * time.Microsecond
	perObjectHeap = 50 << 10
)

// A usage is the cost of a function: CPU time as measured by configtest.CPU, and the maximum growth of the
// heap, including garbage.
type usage struct {
	CPU  time.Duration
	Heap int64
}

// costOf measures the cost of a function. Nothing else must run in the process.
func costOf(do func()) usage {
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
	cpu := configtest.CPU(do)
	close(done)
	return usage{cpu, <-peak - before}
}

func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// within fails a test if the cost of a function exceeds the limit. The function returns the number
// of objects that it compiled. A busy machine counts up to 50% more for the same work, because its
// cores share caches, and a slow one still more, as configtest.Slowness returns. That much is allowed, and a
// cost beyond it is measured again.
func within(t *testing.T, do func() (objects int)) usage {
	t.Helper()
	var objects int
	run := func() { objects = do() }
	cost := costOf(run)
	bound := usage{maxCPU + time.Duration(objects)*perObjectCPU, maxHeap + int64(objects)*perObjectHeap}
	allowed := usage{bound.CPU * 3 / 2, bound.Heap}
	over := func() bool { return cost.CPU > allowed.CPU || cost.Heap > allowed.Heap }
	for range 2 {
		if over() {
			slow, again := configtest.Slowness(), costOf(run)
			slow = (slow + configtest.Slowness()) / 2
			t.Logf("%v; a fixed amount of work takes %.2f times as long as expected", again, slow)
			cost = usage{min(cost.CPU, again.CPU), min(cost.Heap, again.Heap)}
			allowed.CPU = max(allowed.CPU, time.Duration(float64(bound.CPU)*1.5*slow))
		}
	}
	t.Log(cost)
	if over() {
		t.Errorf("the cost is %v, and the limit is %v", cost, bound)
	}
	return cost
}

func (c usage) String() string {
	return fmt.Sprintf("%v, %d MiB", c.CPU.Round(time.Millisecond), c.Heap>>20)
}
