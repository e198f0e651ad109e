package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// offered reports whether a plan type can be chosen.
func (r *rig) offered(plan string) bool {
	for _, it := range r.types.List() {
		if it.Name == plan {
			return len(it.Offerings.Available()) > 0
		}
	}
	return false
}

// TestEnterpriseNodesThatAreListedLateAreWaitedFor: Cloud Manager speaks of 20 minutes.
// No second machine is made, no plan type is blocked, and Karpenter does not take the claims
// for lost: the 15 minutes that it gives a Node begin again.
func TestEnterpriseNodesThatAreListedLateAreWaitedFor(t *testing.T) {
	for _, delay := range []time.Duration{6 * time.Minute, 10 * time.Minute, 18 * time.Minute} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lkesim.Config{Tier: "enterprise", ListDelay: delay, InstanceDelay: time.Minute})
				defer r.kill()
				start := time.Now()
				r.want(3)
				time.Sleep(delay)
				for uid := range r.seen().claims {
					if since := time.Since(r.seen().extended[uid]); since > time.Minute {
						t.Errorf("claim %s was given more time %s ago", uid, since)
					}
				}
				r.until("the claims have machines", r.bound)
				if took := time.Since(start); took > delay+time.Minute {
					t.Errorf("took %s", took)
				}
				time.Sleep(30 * time.Minute)
				if made, gaveUp := r.sim.Stats().Made, r.seen().gaveUp; made != 3 || len(gaveUp) > 0 {
					t.Errorf("%d machines for 3 claims; given up: %v", made, gaveUp)
				}
				if !r.offered("g6-standard-4") {
					t.Error("the plan type is blocked")
				}
			})
		})
	}
}

// TestSlotsOfTheStandardTierAreNotWaitedForSoLong: there a node is listed at once.
func TestSlotsOfTheStandardTierAreNotWaitedForSoLong(t *testing.T) {
	for tier, want := range map[string]time.Duration{"standard": 4 * time.Minute, "enterprise": 20 * time.Minute} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lkesim.Config{Tier: tier})
				defer r.kill()
				if err := r.sim.Inject(lkesim.Fault{NoCapacity: lkesim.NullSlots}); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				r.want(1)
				for len(r.seen().gaveUp) == 0 && time.Since(start) < time.Hour {
					time.Sleep(time.Second)
				}
				if took := time.Since(start); took < want || took > want+time.Minute {
					t.Errorf("given up after %s, want %s", took, want)
				}
			})
		})
	}
}

// TestAnEnterpriseClusterHasNoLimitOfNodes: only its pools have, of 500.
func TestAnEnterpriseClusterHasNoLimitOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lkesim.Config{Tier: "enterprise"})
		defer r.kill()
		r.want(620)
		r.until("620 claims have machines", r.bound)
		if stats := r.sim.Stats(); stats.Made != 620 || stats.Pools != 2 || len(r.seen().warned) > 0 {
			t.Errorf("%d machines in %d pools; warnings: %v", stats.Made, stats.Pools, r.seen().warned)
		}
	})
}

// TestARetiredBuildIsReplacedByOneOfItsMinorVersion: the control plane runs v1.33.6+lke7,
// which the account is not offered any more.
func TestARetiredBuildIsReplacedByOneOfItsMinorVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		offered  []string
		optional bool
		want     string // "": no pool can be made
		refused  int    // calls for the first pool
	}{
		"a pool may name none":     {[]string{"v1.34.1+lke1", "v1.33.6+lke9"}, true, "v1.33.6+lke9", 1},
		"a pool has to name one":   {[]string{"v1.34.1+lke1", "v1.33.6+lke9", "v1.33.6+lke8"}, false, "v1.33.6+lke9", 2},
		"only a newer minor":       {[]string{"v1.34.1+lke1"}, false, "", 0},
		"an older build is better": {[]string{"v1.33.6+lke6"}, false, "v1.33.6+lke6", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lkesim.Config{Tier: "enterprise", Versions: tt.offered, OptionalVersion: tt.optional,
					KubernetesVersion: "v1.33.6+lke7"})
				defer func() { r.kill() }()
				r.want(3)
				if tt.want == "" {
					time.Sleep(time.Hour)
					if pools := r.sim.Pools(); len(pools) > 0 || len(r.seen().warned) == 0 {
						t.Errorf("pools %v, warnings %v", pools, r.seen().warned)
					}
					return
				}
				r.until("the claims have machines", r.bound)
				if got := r.sim.Pools()[0].KubernetesVersion; got != tt.want {
					t.Errorf("the pool has %s, want %s", got, tt.want)
				}
				if got := r.sim.Stats(); got.Writes != tt.refused+1 {
					t.Errorf("%d writes, want %d", got.Writes, tt.refused+1)
				}
				want := []string{
					"claim-001 KubernetesBuildReplaced", "claim-002 KubernetesBuildReplaced", "claim-003 KubernetesBuildReplaced",
				}
				if diff := cmp.Diff(want, r.seen().warned); diff != "" {
					t.Errorf("events (-want +got)\n%s", diff)
				}
				// It is remembered: another NodePool's first call is right. A restart knows the pools by their tags.
				before := r.sim.Stats().Writes
				r.wantOf("other", 1)
				r.until("the other claim has its machine", r.bound)
				r.kill()
				r.start("enterprise")
				time.Sleep(2 * time.Hour)
				if after := r.sim.Stats(); after.Writes != before+1 || after.Made != 4 || after.Deleted != 0 {
					t.Errorf("%d writes, %d machines made and %d deleted; want 1, 4, 0", after.Writes-before, after.Made,
						after.Deleted)
				}
			})
		})
	}
}
