package lke

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestMetricsCountMachinesOfNodeClaims: machines with and without an owner, slots
// without a machine, and waiting claims, but no pool of another owner.
func TestMetricsCountMachinesOfNodeClaims(t *testing.T) {
	early := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	claim := func(plan string, instance int, created time.Time) capacity.Claim {
		return capacity.Claim{Group: capacity.Group{Plan: plan}, Instance: instance, Created: created}
	}
	pool := func(plan, group string, count int, instances ...int) capacity.Pool {
		p := capacity.Pool{Group: group, Count: count, Traits: capacity.Traits{Plan: plan}}
		for _, instance := range instances {
			p.Slots = append(p.Slots, capacity.Slot{Instance: instance})
		}
		return p
	}
	adopted := pool("g6-standard-2", "", 1, 20)
	adopted.Adopted = true
	leaving := claim("g6-standard-8", 0, early)
	leaving.Leaving = true
	got := countNodes(capacity.View{
		Claims: []capacity.Claim{
			claim("g6-standard-4", 10, early), claim("g6-standard-4", 0, early.Add(time.Minute)),
			claim("g6-standard-4", 0, early), leaving,
		},
		Pools: []capacity.Pool{pool("g6-standard-4", "web", 5, 10, 11, 0), adopted, pool("g6-standard-6", "", 1, 30)},
	})
	want := nodeclaim.Rows{
		"g6-standard-4": {Bound: 1, Unowned: 1, Coming: 3, Waiting: 2, Since: early},
		"g6-standard-2": {Unowned: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMetricsFollowTheMachines: what they cost while they are there, how long claims waited
// for them, and why there is none.
func TestMetricsFollowTheMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard", InstanceDelay: 7 * time.Second})
		defer r.kill()
		registry := prometheus.NewRegistry()
		registry.MustRegister(r.running().Metrics()...)
		r.want(3)
		r.until("3 claims have machines", func() bool {
			return r.bound() && gathered(t, registry)["lkeplan_machines bound"] > 0
		})
		got := gathered(t, registry)
		for name, want := range map[string]float64{
			"lkeplan_machines bound":                3,
			"lkeplan_machines unowned":              0,
			"lkeplan_machines coming":               0,
			"lkeplan_machines_hourly_cost_dollars":  3 * 0.072,
			"lkeplan_machines_monthly_cost_dollars": 3 * 48,
			"lkeplan_claims_waiting":                0,
			"lkeplan_bind_duration_seconds":         3,
		} {
			if diff := got[name] - want; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if _, waits := got["lkeplan_claims_waiting_since_timestamp_seconds"]; waits {
			t.Error("no claim waits, but the metric has a time")
		}
		r.release(3)
		r.until("the plan type is forgotten", func() bool {
			_, known := gathered(t, registry)["lkeplan_machines bound"]
			return !known
		})
	})
}

// TestRefusalsAreCounted: by what they are for, from zero on.
func TestRefusalsAreCounted(t *testing.T) {
	for how, reason := range map[string]string{
		sim.Refuse: "no-capacity", sim.NodeEvent: "no-capacity", sim.NullSlots: "timeout",
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "standard"})
				defer r.kill()
				registry := prometheus.NewRegistry()
				registry.MustRegister(r.running().Metrics()...)
				r.sim.Inject(sim.Fault{NoCapacity: how, Plan: "g6-standard-4"})
				r.want(3)
				r.until("there is a count of what was not refused yet", func() bool {
					_, counted := gathered(t, registry)["lkeplan_lke_refusals_total account-limit"]
					return counted
				})
				r.until("the claims are deleted", func() bool { return len(r.seen().unserved) == 3 })
				if got := gathered(t, registry)["lkeplan_lke_refusals_total "+reason]; got == 0 {
					t.Errorf("nothing was refused for the reason %s", reason)
				}
				r.release(3)
			})
		})
	}
}

func gathered(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	values, err := linodetest.Gathered(from)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
