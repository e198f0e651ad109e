package lke

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// lost counts the claims whose machine LKE does not have any more.
func (r *rig) lost() (n int) {
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	live := map[int]bool{}
	for _, p := range r.sim.Pools() {
		for _, s := range p.Nodes {
			if s.InstanceID != nil {
				live[*s.InstanceID] = true
			}
		}
	}
	for _, c := range r.book.claims {
		if c.Instance != 0 && !live[c.Instance] {
			n++
		}
	}
	return n
}

func (r *rig) inject(f sim.Fault) {
	r.t.Helper()
	if err := r.sim.Inject(f); err != nil {
		r.t.Fatal(err)
	}
}

// forget takes the finalizers of n claims away.
func (r *rig) forget(n int) {
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(r.book.claims))[:n] {
		delete(r.book.claims, uid)
	}
}

// TestABindIsRefused: the machine is stored again soon, though no other claim waits.
func TestABindIsRefused(t *testing.T) {
	tiers(t, func(t *testing.T, cfg sim.Config) {
		r := newRig(t, cfg)
		defer r.kill()
		r.book.refuse = 1
		r.want(1)
		r.until("refused", func() bool {
			r.book.mu.Lock()
			defer r.book.mu.Unlock()
			return r.book.refuse == 0
		})
		refused := time.Now()
		r.until("bound", r.bound)
		if took := time.Since(refused); took > 15*time.Second {
			t.Errorf("the machine was stored again after %s", took)
		}
	})
}

// TestLateCallsLoseNoMachine: 20 s after its 504. After all calls that were made meanwhile, no claim loses its
// machine, and in the end there is one for each.
func TestLateCallsLoseNoMachine(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path string
		before       int
		then         func(*rig)
		made         int // at most
	}{
		"PUT, and demand grows":     {"PUT", "/lke/clusters/*/pools/*", 10, func(r *rig) { r.want(9) }, 20},
		"POST, and nothing else":    {"POST", "/lke/clusters/*/pools", 0, func(*rig) {}, 1},
		"DELETE, and a claim waits": {"DELETE", "/lke/clusters/*/nodes/*", 3, func(r *rig) { r.want(1) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			tiers(t, func(t *testing.T, cfg sim.Config) {
				r := newRig(t, cfg)
				defer r.kill()
				time.Sleep(3 * time.Minute)
				if tt.before > 0 {
					r.want(tt.before)
					r.until("bound", r.bound)
				}
				r.inject(sim.Fault{
					Method: tt.method, Path: tt.path, Count: 1, Status: 504, Late: metav1.Duration{Duration: 20 * time.Second},
				})
				if tt.method == "DELETE" {
					r.forget(1)
					time.Sleep(12 * time.Minute)
				} else {
					r.want(1)
					time.Sleep(3 * time.Second)
				}
				tt.then(r)
				for range 300 {
					time.Sleep(time.Second)
					if n := r.lost(); n > 0 {
						t.Fatalf("%d claims have lost their machines", n)
					}
				}
				time.Sleep(15 * time.Minute)
				stats := r.sim.Stats()
				if !r.bound() || stats.Slots != len(r.seen().claims) || stats.Made > tt.made {
					t.Errorf("%d slots for %d claims, bound: %v; %d machines were made, at most %d are needed",
						stats.Slots, len(r.seen().claims), r.bound(), stats.Made, tt.made)
				}
			})
		})
	}
}

// TestSuccessWithoutEffectIsNotRepeatedAtOnce: neither calls nor lists.
func TestSuccessWithoutEffectIsNotRepeatedAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		fault sim.Fault
		then  func(*rig)
	}{
		"a count that is clamped": {sim.Fault{NoCapacity: sim.Clamp}, func(r *rig) { r.want(1) }},
		"a slot that stays": {sim.Fault{Method: "DELETE", Ignored: true}, func(r *rig) {
			r.book.mu.Lock()
			uid := slices.Sorted(maps.Keys(r.book.claims))[0]
			c := r.book.claims[uid]
			c.Leaving = true
			r.book.claims[uid] = c
			r.book.mu.Unlock()
			r.running().Release(uid)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := grown(t, 2)
				defer r.kill()
				r.inject(tt.fault)
				before := r.sim.Stats()
				tt.then(r)
				time.Sleep(10 * time.Minute)
				after := r.sim.Stats()
				if writes, calls := after.Writes-before.Writes, after.Calls-before.Calls; writes > 20 || calls > 120 {
					t.Errorf("%d writes and %d calls in ten minutes", writes, calls)
				}
			})
		})
	}
}

// TestNeverListedSlotsLeadToAnotherPlan: LKE counts the nodes and never lists them.
func TestNeverListedSlotsLeadToAnotherPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.inject(sim.Fault{NoCapacity: sim.Hidden, Plan: "g6-standard-4"})
		r.want(2)
		r.until("both are deleted", func() bool {
			return len(r.seen().unserved) == 2
		})
		r.until("the pool is gone", func() bool { return r.sim.Stats().Pools == 0 })
	})
}

// TestAForeignPoolThatHidesASlot stops no deletion.
func TestAForeignPoolThatHidesASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.inject(sim.Fault{NoCapacity: sim.Hidden, Plan: "g6-standard-1"})
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://x/v4/lke/clusters/77/pools",
			strings.NewReader(`{"type":"g6-standard-1","count":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := r.sim.Client().Do(req); err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		r.want(3)
		r.until("bound", r.bound)
		start := time.Now()
		r.release(2)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("two claims ended after %s", took)
		}
	})
}

// TestARecycleOfAllNodes costs no machine in addition to those that LKE creates: the claims are ended,
// and the claims that Karpenter makes in their place get the new machines.
func TestARecycleOfAllNodes(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		t.Run(fmt.Sprintf("new slots: %v", fresh), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{
					Tier: "standard", InstanceDelay: 15 * time.Second, DeleteDelay: 30 * time.Second, RecycleNewSlots: fresh,
				})
				defer r.kill()
				r.want(50)
				r.until("bound", r.bound)
				req, err := http.NewRequestWithContext(t.Context(), "POST", "http://x/v4/lke/clusters/77/recycle", nil)
				if err != nil {
					t.Fatal(err)
				}
				if res, err := r.sim.Client().Do(req); err != nil || res.StatusCode != 200 {
					t.Fatal(res, err)
				}
				r.until("all claims are ended", func() bool {
					return len(r.seen().ended) == 50
				})
				time.Sleep(20 * time.Second) // Karpenter's part
				r.want(50)
				r.release(50)
				r.until("bound again", r.bound)
				time.Sleep(30 * time.Minute)
				if stats := r.sim.Stats(); stats.Made > 101 || stats.Slots != 50 {
					t.Errorf("%d machines were made, %d slots are left", stats.Made, stats.Slots)
				}
			})
		})
	}
}

// TestALostMachineEndsItsClaim at once, before it has joined.
func TestALostMachineEndsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t, 2)
		defer r.kill()
		r.sim.LoseInstance(r.sim.Instances()[0].ID, true)
		start := time.Now()
		r.until("it is ended", func() bool {
			return len(r.seen().ended) == 1
		})
		if took := time.Since(start); took > 90*time.Second {
			t.Errorf("it was ended after %s", took)
		}
	})
}

// TestPartialCapacityForMachines is filled, and only the rest waits or gets another plan type.
func TestPartialCapacityForMachines(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg      sim.Config
		fault    sim.Fault
		unserved int
	}{
		"of the account": {sim.Config{Tier: "standard", MaxInstances: 7}, sim.Fault{}, 0},
		"in stock":       {sim.Config{Tier: "standard"}, sim.Fault{NoCapacity: sim.Refuse, Room: 7}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.cfg)
				defer r.kill()
				if tt.fault.NoCapacity != "" {
					r.inject(tt.fault)
				}
				r.want(8)
				start := time.Now()
				r.until("seven are made", func() bool { return r.sim.Stats().Made == 7 })
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("seven machines took %s", took)
				}
				time.Sleep(time.Minute)
				if n := len(r.seen().unserved); n != tt.unserved {
					t.Errorf("%d claims were ended", n)
				}
			})
		})
	}
}

// TestClusterLimitIsKept: what LKE allows is created, and the other claims get an event with the reason.
func TestClusterLimitIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.want(260)
		r.until("all are made", func() bool { return r.sim.Stats().Made == 250 })
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff(10, len(r.seen().warned)); diff != "" || !strings.HasSuffix(r.seen().warned[0], " ClusterFull") {
			t.Errorf("warnings: %v", r.seen().warned)
		}
	})
}

// TestAProviderIDThatIsPendingAgainIsStoredAgain.
func TestAProviderIDThatIsPendingAgainIsStoredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t, 1)
		defer r.kill()
		before := r.seen().claims
		r.book.mu.Lock()
		for uid, c := range r.book.claims {
			c.Instance = 0
			r.book.claims[uid] = c
		}
		r.book.mu.Unlock()
		r.running().Wake()
		r.until("bound again", r.bound)
		if diff := cmp.Diff(before, r.seen().claims, cmp.AllowUnexported(capacity.Claim{})); diff != "" {
			t.Errorf("the claim (-before +after):\n%s", diff)
		}
	})
}

// houses are registered Nodes in memory; Drain takes a while.
type houses struct{ *book }

func (h houses) List(context.Context) (map[int]nodeclaim.Node, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.nodes), nil
}

func (h houses) Drain(_ context.Context, name string) error {
	time.AfterFunc(time.Minute, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		maps.DeleteFunc(h.nodes, func(_ int, n nodeclaim.Node) bool { return n.Name == name })
	})
	return nil
}

func (h houses) Keep(_ context.Context, name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for instance, n := range h.nodes {
		if n.Name == name {
			n.Kept = true
			h.nodes[instance] = n
		}
	}
	return nil
}

// TestRestoreWithoutNodeClaims keeps the machines, reports them, and drains those that a user allows to be deleted.
func TestRestoreWithoutNodeClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t, 6)
		defer r.kill()
		r.book.mu.Lock()
		for _, c := range r.book.claims {
			r.book.nodes[c.Instance] = nodeclaim.Node{Name: fmt.Sprint("node-", c.Instance), NodePool: "web"}
		}
		clear(r.book.claims)
		r.book.mu.Unlock()
		time.Sleep(time.Hour)
		if stats := r.sim.Stats(); stats.Slots != 6 {
			t.Errorf("%d machines are left", stats.Slots)
		}
		if said := r.seen().warnedPools; len(said) != 1 || !strings.Contains(said[0], "6 Nodes") ||
			!strings.Contains(said[0], "lkeplan.dev/orphaned=delete") {
			t.Errorf("said: %q", said)
		}
		condemn := func(count int) {
			r.book.mu.Lock()
			defer r.book.mu.Unlock()
			for _, instance := range slices.Sorted(maps.Keys(r.book.nodes))[:count] {
				n := r.book.nodes[instance]
				n.MayBeDeleted = true
				r.book.nodes[instance] = n
			}
		}
		condemn(4)
		r.until("four are gone", func() bool { return r.sim.Stats().Slots == 2 })
		time.Sleep(time.Hour)
		r.kill()
		r.start("standard")
		time.Sleep(time.Hour)
		if stats := r.sim.Stats(); stats.Slots != 2 {
			t.Errorf("%d machines are left whose deletion was not allowed, of two", stats.Slots)
		}
		condemn(2)
		r.until("they are gone", func() bool { return r.sim.Stats().Slots == 0 })
	})
}

// TestCostOfARestart: another process leads while a call of the last one is still to come. No
// count is lowered; a POST is made twice and the surplus goes; a claim that gets a machine
// which is being deleted is ended at once.
func TestCostOfARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path       string
		before, more, then int // claims: that have machines, that cause the call, and after the restart
		made, ended        int // at most
	}{
		"PUT":    {"PUT", "/lke/clusters/*/pools/*", 10, 1, 9, 21, 0},
		"POST":   {"POST", "/lke/clusters/*/pools", 0, 5, 0, 10, 0},
		"DELETE": {"DELETE", "/lke/clusters/*/nodes/*", 3, 0, 1, 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "standard"})
				defer func() { r.kill() }()
				if r.want(tt.before); tt.before > 0 {
					r.until("bound", r.bound)
				}
				r.inject(sim.Fault{
					Method: tt.method, Path: tt.path, Count: 1, Status: 504, Late: metav1.Duration{Duration: 20 * time.Second},
				})
				if tt.more == 0 {
					r.forget(1)
				}
				r.want(tt.more)
				r.until("the call is made", func() bool { return r.sim.Stats().ByStatus[504] == 1 })
				r.kill()
				r.start("standard")
				r.want(tt.then)
				time.Sleep(2 * time.Minute)
				if n := len(r.seen().ended); n > tt.ended {
					t.Errorf("%d claims have lost their machines, at most %d may", n, tt.ended)
				}
				time.Sleep(20 * time.Minute)
				r.book.mu.Lock()
				maps.DeleteFunc(r.book.claims, func(_ string, c capacity.Claim) bool { return c.Leaving })
				r.book.mu.Unlock()
				stats := r.sim.Stats()
				if !r.bound() || stats.Slots != len(r.seen().claims) || stats.Made > tt.made {
					t.Errorf("%d slots for %d claims, bound: %v; %d machines were made, at most %d may be", stats.Slots,
						len(r.seen().claims), r.bound(), stats.Made, tt.made)
				}
			})
		})
	}
}
