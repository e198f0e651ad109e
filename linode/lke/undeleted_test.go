package lke

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestNodeClaimReportsUndeletedMachine: one of two slots, and then the pool with
// the last.
func TestNodeClaimReportsUndeletedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.want(2)
		r.until("both claims have machines", r.bound)
		for _, uid := range []string{"claim-001", "claim-002"} {
			r.sim.Inject(sim.Fault{Method: "DELETE", Count: 2, Status: 500})
			r.book.mu.Lock()
			c := r.book.claims[uid]
			c.Leaving = true
			r.book.claims[uid] = c
			r.book.mu.Unlock()
			r.until(uid+" is gone", func() bool {
				time.Sleep(5 * time.Second)
				return r.drop(uid)
			})
		}
		said := slices.Compact(slices.DeleteFunc(slices.Sorted(slices.Values(r.seen().warned)), func(s string) bool {
			return s != "claim-001 LKEDeleteFailed" && s != "claim-002 LKEDeleteFailed"
		}))
		if len(said) != 2 {
			t.Errorf("the events are %v", r.seen().warned)
		}
	})
}
