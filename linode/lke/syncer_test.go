package lke

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/sim"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// inProcess carries requests to a handler without a network, so that fake time
// passes while they wait.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
		} else if v != nil {
			panic(v)
		}
	}()
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// rig is a Syncer in front of a simulated LKE.
type rig struct {
	t     *testing.T
	sim   *sim.Simulator
	book  *book
	types *instancetype.Set
	next  int

	version string // that claims ask for; "" where they ask for none

	cluster int
	claims  Claims        // book, where it is nil
	around  func(API) API // what the Syncer has in place of the client; nil for the client

	mu    sync.Mutex // of what start replaces
	fleet *Syncer
	stop  context.CancelFunc
	ended chan struct{}
}

func newRig(t *testing.T, cfg sim.Config) *rig {
	t.Helper()
	cfg.ClusterID = 77
	sim, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, sim: sim, book: newBook(), types: instancetype.New(facts(t), "us-ord",
		catalog.Tier(cfg.Tier)), cluster: cfg.ClusterID}
	r.start(cfg.Tier)
	return r
}

func facts(t *testing.T) *catalog.Catalog {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// start runs a Syncer that does not know an earlier one.
func (r *rig) start(tier string) {
	linodeAPI, err := api.New("http://linode.test", "token", api.Options{
		Transport: inProcess{r.sim},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	cluster := api.Cluster{ID: r.cluster, Region: "us-ord", Tier: tier, K8sVersion: "v1.33.6+lke7"}
	log := slog.New(slog.DiscardHandler)
	claims := r.claims
	if claims == nil {
		claims = r.book
	}
	var asked API = linodeAPI
	if r.around != nil {
		asked = r.around(linodeAPI)
	}
	fleet := NewSyncer(SyncerConfig{
		API: asked, Cluster: cluster, ControlPlane: NewControlPlane(linodeAPI, cluster, r.types, log),
		Claims: claims, Nodes: houses{r.book}, Types: r.types, Log: log,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fleet.Start(ctx)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet, r.stop, r.ended = fleet, cancel, ended
}

func (r *rig) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	<-r.ended
}

// running is the Syncer of the moment.
func (r *rig) running() *Syncer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fleet
}

// want makes n claims that wait for a machine.
func (r *rig) want(n int) { r.wantOf("web", n) }

// wantOf makes n claims of a NodePool.
func (r *rig) wantOf(nodePool string, n int) { r.wantOfPlan(nodePool, "g6-standard-4", n) }

// wantOfPlan makes n claims of a NodePool that have a plan type.
func (r *rig) wantOfPlan(nodePool, plan string, n int) {
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	for range n {
		r.next++
		uid := fmt.Sprintf("claim-%03d", r.next)
		r.book.claims[uid] = capacity.Claim{
			UID: uid, Group: capacity.Group{NodePool: nodePool, Plan: plan, Version: r.version},
			Created: time.Now(),
		}
	}
	r.running().Wake()
}

// release deletes n claims, and asks for their end every five seconds as Karpenter
// does, until all are gone.
func (r *rig) release(n int) {
	r.book.mu.Lock()
	leaving := slices.Sorted(maps.Keys(r.book.claims))[:n]
	for _, uid := range leaving {
		c := r.book.claims[uid]
		c.Leaving = true
		r.book.claims[uid] = c
	}
	r.book.mu.Unlock()
	r.until("claims end", func() bool {
		time.Sleep(5 * time.Second)
		leaving = slices.DeleteFunc(leaving, r.drop)
		return len(leaving) == 0
	})
}

// drop ends a claim when its machine is gone, and makes sure that it is.
func (r *rig) drop(uid string) bool {
	if !r.running().Release(uid) {
		return false
	}
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	instance := r.book.claims[uid].Instance
	for _, p := range r.sim.Pools() {
		for _, s := range p.Nodes {
			if instance != 0 && s.InstanceID != nil && *s.InstanceID == instance {
				r.t.Errorf("claim %s was said to be gone while LKE has its Linode %d", uid, instance)
			}
		}
	}
	delete(r.book.claims, uid)
	return true
}

// until lets fake time pass until the condition holds.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	r.t.Fatalf("timed out after a thousand seconds: %s", what)
}

// bound reports whether every claim has its own machine.
func (r *rig) bound() bool {
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	seen := map[int]bool{}
	for _, c := range r.book.claims {
		if c.Instance == 0 || seen[c.Instance] {
			return false
		}
		seen[c.Instance] = true
	}
	return true
}

func (b *book) WarnNodePool(_ context.Context, nodePool, reason, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warnedPools = append(b.warnedPools, nodePool+" "+reason+": "+message)
}

func tiers(t *testing.T, test func(t *testing.T, cfg sim.Config)) {
	for _, cfg := range []sim.Config{
		{Tier: "standard", InstanceDelay: 2 * time.Second},
		{Tier: "enterprise", InstanceDelay: 2 * time.Second, ListDelay: 30 * time.Second},
	} {
		t.Run(cfg.Tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, cfg) })
		})
	}
}

func TestABurstIsOneCall(t *testing.T) {
	tiers(t, func(t *testing.T, cfg sim.Config) {
		r := newRig(t, cfg)
		defer r.kill()
		start := time.Now()
		r.want(25)
		r.until("25 claims have machines", r.bound)
		stats := r.sim.Stats()
		if stats.Made != 25 || stats.Writes != 1 {
			t.Errorf("made %d instances in %d writes, want 25 in 1", stats.Made, stats.Writes)
		}
		if stats.Calls > 25 {
			t.Errorf("%d calls for 25 nodes", stats.Calls)
		}
		if took, most := time.Since(start), cfg.InstanceDelay+cfg.ListDelay+6*time.Second; took > most {
			t.Errorf("took %s, want less than %s", took, most)
		}
		r.release(25)
		if stats := r.sim.Stats(); stats.Slots != 0 || stats.Pools != 0 {
			t.Errorf("%d pools with %d slots are left", stats.Pools, stats.Slots)
		}
	})
}

// TestFirstCallDoesNotWait: more claims may be on their way, for which it
// waits a moment, or none is known to come.
func TestFirstCallDoesNotWait(t *testing.T) {
	for name, tt := range map[string]struct {
		wake func(*Syncer)
		most time.Duration
	}{
		"more may come":      {(*Syncer).Wake, 200 * time.Millisecond},
		"no more are coming": {func(f *Syncer) { f.loop.WakeNow() }, 0},
		"the last has come": {
			func(f *Syncer) { f.Wake(); time.Sleep(30 * time.Millisecond); f.loop.WakeNow() }, 30 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "standard"})
				defer r.kill()
				time.Sleep(5 * time.Second) // the first poll is over
				r.book.mu.Lock()
				r.book.claims["a"] = capacity.Claim{
					UID: "a", Group: capacity.Group{NodePool: "web", Plan: "g6-standard-4"}, Created: time.Now(),
				}
				r.book.mu.Unlock()
				start := time.Now()
				tt.wake(r.running())
				r.until("the claim has its machine", r.bound)
				for _, call := range r.sim.Calls() {
					if took := call.At.Sub(start); call.Method == http.MethodPost && took != tt.most {
						t.Errorf("the first call came after %s, want %s", took, tt.most)
					}
				}
			})
		})
	}
}

// story is a life of a cluster: it grows twice, is edited by hand, loses some
// and then all.
func (r *rig) story() {
	r.want(4)
	r.until("the first claims have machines", r.bound)
	r.want(3)
	r.until("all claims have machines", r.bound)
	r.tamper()
	r.release(2)
	r.until("the rest has machines", r.bound)
	r.release(5)
	r.until("nothing is left", func() bool { return r.sim.Stats().Slots == 0 })
}

// every leaves out ways, not calls, and the next call is failed in other ways. Of three in
// their order one is always carried out.
var every = flag.Int("every", nightly.Or(3, 1), "TestEveryCallMayFail fails each call in one of so many ways; 1 is all")

// TestEveryCallMayFail fails each Linode call of the story in turn, in several
// ways. Afterwards no machine was created that no claim asked for.
func TestEveryCallMayFail(t *testing.T) {
	tiers(t, func(t *testing.T, cfg sim.Config) {
		r := newRig(t, cfg)
		r.story()
		r.kill()
		calls := r.sim.Stats().Calls
		faults := sim.CallFaults()
		for n, name := range slices.Sorted(maps.Keys(faults)) {
			for i := range calls {
				if (n+i)%*every != 0 {
					continue
				}
				fault := faults[name]
				fault.After, fault.Count = i, 1
				r := newRig(t, cfg)
				r.sim.Inject(fault)
				r.story()
				r.kill()
				if made := r.sim.Stats().Made; made != 7 {
					t.Errorf("call %d %s: %d instances for 7 claims", i, name, made)
				}
			}
		}
	})
}

// TestTheControllerMayDieAtEveryCall ends the Syncer at each Linode call of the
// story in turn, while the call is under way, and continues with a Syncer that
// has no memory.
func TestTheControllerMayDieAtEveryCall(t *testing.T) {
	tiers(t, func(t *testing.T, cfg sim.Config) {
		r := newRig(t, cfg)
		r.story()
		r.kill()
		calls := r.sim.Stats().Calls
		for i := range calls {
			for _, done := range []bool{false, true} {
				r := newRig(t, cfg)
				r.sim.Inject(sim.Fault{After: i, Count: 1, Hang: true, AfterWork: done})
				var over atomic.Bool // without the call: the previous run had one call more
				killed := make(chan struct{})
				go func() {
					defer close(killed)
					r.until("the call is made", func() bool { return r.sim.Stats().Calls > i || over.Load() })
					r.kill()
					r.start(cfg.Tier)
				}()
				r.story()
				over.Store(true)
				<-killed
				r.kill()
				if made := r.sim.Stats().Made; made != 7 {
					t.Errorf("killed at call %d (done: %v): %d instances for 7 claims", i, done, made)
				}
			}
		}
	})
}

func TestAPlanWithoutCapacityIsNotOffered(t *testing.T) {
	available := func(r *rig) bool {
		for _, it := range r.types.List() {
			if it.Name == "g6-standard-4" {
				return len(it.Offerings.Available()) > 0
			}
		}
		return false
	}
	for how, tt := range map[string]struct {
		fault  sim.Fault
		within time.Duration
	}{
		"refused": {sim.Fault{NoCapacity: sim.Refuse}, 2 * time.Second},
		"refused with the field type": {sim.Fault{
			NoCapacity: sim.Refuse, Field: "type", Body: "Plan g6-standard-4 is not available for LKE in region us-ord",
		}, 2 * time.Second},
		"null": {sim.Fault{NoCapacity: sim.NullSlots}, 5 * time.Minute},
	} {
		within := tt.within
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "standard"})
				defer r.kill()
				tt.fault.Plan = "g6-standard-4"
				r.inject(tt.fault)
				start := time.Now()
				r.want(3)
				r.until("the claims are deleted", func() bool {
					return len(r.seen().unserved) == 3
				})
				if took := time.Since(start); took > within {
					t.Errorf("took %s, want less than %s", took, within)
				}
				if available(r) {
					t.Error("the plan is still offered")
				}
				if seen := r.seen(); len(seen.warned) > 0 {
					t.Errorf("the NodePool is blamed: %v", seen.warned)
				}
				r.release(3)
				if slots := r.sim.Stats().Slots; slots != 0 {
					t.Errorf("%d slots are left", slots)
				}
				time.Sleep(4 * time.Minute)
				if !available(r) {
					t.Error("the plan is not offered again")
				}
			})
		})
	}
}

// TestOnlyUnservedClaimsAreDeleted: of 105 claims LKE takes 100 in a first pool and
// refuses the second.
func TestOnlyUnservedClaimsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.sim.Inject(sim.Fault{NoCapacity: sim.Refuse, Room: 100})
		r.want(105)
		bound := func() (n int) {
			r.book.mu.Lock()
			defer r.book.mu.Unlock()
			for _, c := range r.book.claims {
				if c.Instance != 0 {
					n++
				}
			}
			return n
		}
		r.until("100 claims have machines, and the rest is deleted", func() bool {
			given := bound()
			return given == 100 && len(r.seen().unserved) == 5
		})
	})
}

func TestARefusedPoolWarnsAndBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.sim.Inject(sim.Fault{
			Method: "POST", Count: 3, Status: 400, Body: `{"errors":[{"reason":"capacity is no good tag","field":"tags"}]}`,
		})
		r.want(1)
		r.until("the claim has a machine", r.bound)
		if len(r.seen().unserved) > 0 {
			t.Errorf("a validation error was taken for missing capacity: %v", r.seen().unserved)
		}
		if len(r.seen().warned) != 3 {
			t.Errorf("warnings: %v, want one for each refusal", r.seen().warned)
		}
	})
}

func TestUnrequestedMachineIsDeletedAfterDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.want(3)
		r.until("all claims have machines", r.bound)
		r.book.mu.Lock()
		for uid := range r.book.claims {
			delete(r.book.claims, uid) // a user removed the finalizers
			break
		}
		r.book.mu.Unlock()
		r.until("the machine is gone", func() bool { return r.sim.Stats().Slots == 2 })
		if !r.bound() {
			t.Error("the machine of a claim went")
		}
	})
}
