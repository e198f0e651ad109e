package lke

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestALockedPoolIsReportedAndLeftAlone: one call an hour finds out whether it is locked still.
func TestALockedPoolIsReportedAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.want(1)
		r.until("the claim has a machine", r.bound)
		pool := r.sim.Pools()[0].ID
		r.sim.LockPool(pool, sim.LockWithNodes)
		before := r.sim.Stats().Writes
		r.book.mu.Lock()
		c := r.book.claims["claim-001"]
		c.Leaving = true
		r.book.claims["claim-001"] = c
		r.book.mu.Unlock()
		for range 360 {
			if r.drop("claim-001") {
				t.Fatal("the claim ended while its machine is there")
			}
			time.Sleep(5 * time.Second)
		}
		if calls := r.sim.Stats().Writes - before; calls != 1 {
			t.Errorf("%d calls in half an hour, want 1", calls)
		}
		if said := r.seen().warned; !slices.Contains(said, "claim-001 LKELocked") {
			t.Errorf("the events are %v", said)
		}
		r.sim.LockPool(pool)
		time.Sleep(31 * time.Minute)
		r.until("the claim ends", func() bool { return r.drop("claim-001") })
	})
}
