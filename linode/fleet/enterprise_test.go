package fleet

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/capacity"
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
		offered []string
		want    string // "": no pool can be made
	}{
		"the newest of the minor version": {[]string{"v1.34.1+lke1", "v1.33.6+lke9", "v1.33.6+lke8"}, "v1.33.6+lke9"},
		"only a newer minor version":      {[]string{"v1.34.1+lke1"}, ""},
		"an older build":                  {[]string{"v1.33.6+lke6"}, "v1.33.6+lke6"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lkesim.Config{Tier: "enterprise", Versions: tt.offered, MaxInstances: 20,
					KubernetesVersion: "v1.33.6+lke7"})
				defer func() { r.kill() }()
				r.version = "v1.33.6+lke7"
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
				if got := r.sim.Stats(); got.Writes != 2 { // the first is refused
					t.Errorf("%d writes, want 2", got.Writes)
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

// burst is a rig whose claims allow several plan types, and are replanned as the chooser does it.
type burst struct {
	*rig
	plans []string
}

// GiveUp gives a claim the first plan type that is offered, and notes why it left its own.
func (b *burst) GiveUp(_ context.Context, uid, reason string) error {
	b.book.mu.Lock()
	defer b.book.mu.Unlock()
	c := b.book.claims[uid]
	i := slices.IndexFunc(b.plans, b.offered)
	if i < 0 || c.Instance != 0 {
		b.t.Errorf("no plan type is left for %s: %s", uid, reason)
		return nil
	}
	b.book.gaveUp[uid+" "+c.Group.Plan] = reason
	c.Group.Plan = b.plans[i]
	b.book.claims[uid] = c
	return nil
}

func (b *burst) List(ctx context.Context) ([]capacity.Claim, error) { return b.book.List(ctx) }
func (b *burst) Bind(ctx context.Context, bind capacity.Bind) error { return b.book.Bind(ctx, bind) }
func (b *burst) Extend(ctx context.Context, uid string) error       { return b.book.Extend(ctx, uid) }
func (b *burst) Warn(ctx context.Context, uid, reason, text string) {
	b.book.Warn(ctx, uid, reason, text)
}
func (b *burst) WarnNodePool(ctx context.Context, name, reason, text string) {
	b.book.WarnNodePool(ctx, name, reason, text)
}
func (b *burst) End(ctx context.Context, uid string, instance int, reason string) error {
	return b.book.End(ctx, uid, instance, reason)
}

// TestABurstOnEnterprise plays the whole profile: 100 pods, four to a node, want 25 nodes. Nodes
// are listed after ten minutes, the build of the control plane is retired, the first plan type
// is closed to the account, and of the second there are only 10 at first. There are as many
// machines as claims, no plan type is blocked for another reason, and each kind of wait has its
// event. How many claims 100 pods make, if a node has less memory, is Karpenter's part and
// not this test's.
func TestABurstOnEnterprise(t *testing.T) {
	const closed, flaky, spare = "g6-standard-4", "g6-dedicated-4", "g6-standard-6"
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lkesim.Config{
			Tier: "enterprise", InstanceDelay: 20 * time.Second, ListDelay: 10 * time.Minute, Jitter: 0.2,
			KubernetesVersion: "v1.33.6+lke7", Versions: []string{"v1.34.1+lke1", "v1.33.6+lke9"},
		})
		defer func() { r.kill() }()
		r.kill()
		r.claims = &burst{rig: r, plans: []string{closed, flaky, spare}}
		r.start("enterprise")
		for _, f := range []lkesim.Fault{
			{NoCapacity: lkesim.Refuse, Plan: closed, Body: lkesim.PlanClosed},
			{NoCapacity: lkesim.Refuse, Plan: flaky, Room: 10, Name: "stock"},
		} {
			if err := r.sim.Inject(f); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		r.want(25)
		time.Sleep(5 * time.Minute)
		r.sim.EndFaults("stock")
		r.until("all claims have machines", r.bound)
		if took := time.Since(start); took > 14*time.Minute {
			t.Errorf("took %s", took)
		}
		time.Sleep(time.Hour)
		stats, seen := r.sim.Stats(), r.seen()
		if stats.Made != 25 || stats.Deleted != 0 || !r.bound() {
			t.Errorf("%d machines made and %d deleted for 25 claims", stats.Made, stats.Deleted)
		}
		if r.offered(closed) || !r.offered(flaky) || !r.offered(spare) {
			t.Errorf("offered: %v %v %v", r.offered(closed), r.offered(flaky), r.offered(spare))
		}
		kinds := map[string]int{}
		for about, reason := range seen.gaveUp {
			_, plan, _ := strings.Cut(about, " ")
			kinds[plan]++
			want := "no capacity for " + flaky
			if plan == closed {
				want = closed + " is closed to this account"
			}
			if !strings.Contains(reason, want) {
				t.Errorf("%s was given up: %s", about, reason)
			}
		}
		for _, warning := range seen.warned {
			_, reason, _ := strings.Cut(warning, " ")
			kinds[reason]++
		}
		if kinds[closed] != 25 || kinds[flaky] != 15 || kinds["KubernetesBuildReplaced"] == 0 || len(kinds) != 3 {
			t.Errorf("events: %v", kinds)
		}
		if len(seen.extended) != 25 {
			t.Errorf("%d claims were given more time", len(seen.extended))
		}
	})
}
