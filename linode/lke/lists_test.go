package lke

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestReadsDoNotDelayMachines: Karpenter asks about once a second for each
// node that it drains and that is not ready, under the documented limit of 200 lists a
// minute.
func TestReadsDoNotDelayMachines(t *testing.T) {
	for _, draining := range []int{0, 20, 100} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, sim.Config{
				Tier: "standard", InstanceDelay: time.Second, RateLimit: sim.RateLimit{Lists: 200, Calls: 1600},
			})
			defer r.kill()
			r.want(2)
			r.until("two claims have machines", r.bound)
			stop := make(chan struct{})
			var asking sync.WaitGroup
			for i := range draining {
				asking.Go(func() { r.ask(stop, time.Duration(i)*9*time.Millisecond) })
			}
			time.Sleep(90 * time.Second)
			var worst time.Duration
			for range 10 {
				began := time.Now()
				r.want(1)
				for !r.bound() {
					time.Sleep(100 * time.Millisecond)
				}
				worst = max(worst, time.Since(began))
				time.Sleep(7 * time.Second)
			}
			close(stop)
			asking.Wait()
			t.Logf("with %d draining nodes a machine comes after %s at most", draining, worst)
			if worst > 5*time.Second {
				t.Errorf("with %d draining nodes a machine came after %s", draining, worst)
			}
			if n := r.sim.Stats().ByStatus[429]; n > 0 {
				t.Errorf("%d calls were refused for their rate", n)
			}
		})
	}
}

// ask asks for the pools of the moment each second, until stop is closed.
func (r *rig) ask(stop <-chan struct{}, offset time.Duration) {
	time.Sleep(offset)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
			if _, err := r.fleet.Pools(r.t.Context(), time.Now()); err != nil {
				r.t.Errorf("list the pools: %v", err)
			}
		}
	}
}

// TestCallersShareOneList: at once, and one every two seconds at most.
func TestCallersShareOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		time.Sleep(10 * time.Second) // the Syncer is at rest: it polls each minute
		r.sim.Reset()
		for range 5 {
			time.Sleep(100 * time.Millisecond)
			var asking sync.WaitGroup
			began := time.Now()
			for range 100 {
				asking.Go(func() {
					if _, err := r.fleet.Pools(t.Context(), began); err != nil {
						t.Errorf("list the pools: %v", err)
					}
				})
			}
			asking.Wait()
			if d := time.Since(began); d > loop.ListEvery {
				t.Errorf("they waited %s", d)
			}
		}
		r.kill()
		if calls := r.sim.Stats().Calls; calls != 5 {
			t.Errorf("%d lists for five rounds of a hundred", calls)
		}
	})
}
