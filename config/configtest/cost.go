package configtest

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
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
// again for the same work, as its processors share caches, and a slow one more, as
// Slowness tells: that much is allowed, and what is over it is measured again.
func Within(t *testing.T, do func() (objects int)) Cost {
	t.Helper()
	var objects int
	run := func() { objects = do() }
	cost := CostOf(run)
	bound := Cost{maxCPU + time.Duration(objects)*perObjectCPU, maxHeap + int64(objects)*perObjectHeap}
	allowed := Cost{bound.CPU * 3 / 2, bound.Heap}
	over := func() bool { return cost.CPU > allowed.CPU || cost.Heap > allowed.Heap }
	for range 2 {
		if over() {
			slow, again := Slowness(), CostOf(run)
			slow = (slow + Slowness()) / 2
			t.Logf("%v; a fixed piece of work takes %.2f times as long as it should", again, slow)
			cost = Cost{min(cost.CPU, again.CPU), min(cost.Heap, again.Heap)}
			allowed.CPU = max(allowed.CPU, time.Duration(float64(bound.CPU)*1.5*slow))
		}
	}
	t.Log(cost)
	if over() {
		t.Errorf("it costs %v, and %v is the bound", cost, bound)
	}
	return cost
}

// fixedWork is what Slowness measures: none of our own code, which the bounds are for.
const fixedWork = 50

// fixedWorkTakes is the CPU time that fixedWork takes on the machine that the bounds are
// for, which is one core of a server with 2 GHz.
const fixedWorkTakes = 100 * time.Millisecond

// Slowness is how many times as long this machine takes at the moment for a fixed piece of
// work as the machine that the bounds are for; at least 1.
func Slowness() float64 {
	text := []byte(strings.Repeat("a = [for x in range(10) : \"${x}-${upper(local.b)}\" if x > 3]\n", 100))
	took := CPU(func() {
		for range fixedWork {
			_, _ = hclsyntax.ParseConfig(text, "", hcl.InitialPos)
		}
	})
	return max(1, float64(took)/float64(fixedWorkTakes))
}

func (c Cost) String() string {
	return fmt.Sprintf("%v, %d MiB", c.CPU.Round(time.Millisecond), c.Heap>>20)
}
