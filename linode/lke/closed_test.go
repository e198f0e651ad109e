package lke

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestPlanClosedToTheAccountFailsImmediately: the first answer is enough for all claims that wait, and the plan
// is not offered for hours.
func TestPlanClosedToTheAccountFailsImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard", InstanceDelay: 2 * time.Second})
		defer r.kill()
		if err := r.sim.Inject(sim.Fault{
			NoCapacity: sim.Refuse, Plan: "g6-standard-4", Body: sim.PlanClosed,
		}); err != nil {
			t.Fatal(err)
		}
		r.want(4)
		r.until("all are deleted", func() bool { return len(r.seen().unserved) == 4 })
		if stats := r.sim.Stats(); stats.Writes != 1 {
			t.Errorf("%d calls, want 1", stats.Writes)
		}
		for uid, why := range r.seen().unserved {
			if !strings.Contains(why, "g6-standard-4 is closed to this account") {
				t.Errorf("%s: %s", uid, why)
			}
		}
		time.Sleep(5 * time.Hour)
		if len(r.types.Closed()) != 1 || len(r.types.Blocked()) != 1 {
			t.Errorf("after five hours closed are %v, blocked are %v", r.types.Closed(), r.types.Blocked())
		}
		time.Sleep(2 * time.Hour)
		if len(r.types.Closed())+len(r.types.Blocked()) != 0 {
			t.Errorf("after seven hours closed are %v, blocked are %v", r.types.Closed(), r.types.Blocked())
		}
	})
}

// TestTheLimitOfActiveServicesIsTheAccounts: no plan is blocked and no claim is ended for it.
func TestTheLimitOfActiveServicesIsTheAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard", InstanceDelay: 2 * time.Second})
		defer r.kill()
		if err := r.sim.Inject(sim.Fault{NoCapacity: sim.Refuse, Body: sim.ActiveServices}); err != nil {
			t.Fatal(err)
		}
		r.want(1)
		r.until("it is said", func() bool { return len(r.seen().warned) > 0 })
		if seen := r.seen(); !slices.Contains(seen.warned, "claim-001 LinodeAccountLimit") || len(seen.unserved) > 0 {
			t.Error(fmt.Sprint(seen.warned, seen.unserved))
		}
		if blocked := r.types.Blocked(); len(blocked) > 0 {
			t.Errorf("blocked are %v", blocked)
		}
		r.sim.ClearFaults()
		r.until("the claim has a machine", r.bound)
	})
}
