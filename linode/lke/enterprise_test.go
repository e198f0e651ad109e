package lke

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetes "k8s.io/client-go/kubernetes/fake"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/sim"
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

// TestLateEnterpriseNodesAreAwaited: Cloud Manager speaks of 20 minutes.
// No second machine is created, no plan type is blocked, and Karpenter does not take the claims
// for lost: the 15 minutes that it gives a Node restart.
func TestLateEnterpriseNodesAreAwaited(t *testing.T) {
	for _, delay := range []time.Duration{6 * time.Minute, 10 * time.Minute, 18 * time.Minute} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "enterprise", ListDelay: delay, InstanceDelay: time.Minute})
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
				if made, unserved := r.sim.Stats().Made, r.seen().unserved; made != 3 || len(unserved) > 0 {
					t.Errorf("%d machines for 3 claims; deleted: %v", made, unserved)
				}
				if !r.offered("g6-standard-4") {
					t.Error("the plan type is blocked")
				}
			})
		})
	}
}

// TestStandardSlotsHaveAShorterTimeout: there a node is listed at once.
func TestStandardSlotsHaveAShorterTimeout(t *testing.T) {
	for tier, want := range map[string]time.Duration{"standard": 4 * time.Minute, "enterprise": 20 * time.Minute} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: tier})
				defer r.kill()
				if err := r.sim.Inject(sim.Fault{NoCapacity: sim.NullSlots}); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				r.want(1)
				for len(r.seen().unserved) == 0 && time.Since(start) < time.Hour {
					time.Sleep(time.Second)
				}
				if took := time.Since(start); took < want || took > want+time.Minute {
					t.Errorf("deleted after %s, want %s", took, want)
				}
			})
		})
	}
}

// TestAnEnterpriseClusterHasNoLimitOfNodes: only its pools have, of 500.
func TestAnEnterpriseClusterHasNoLimitOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "enterprise"})
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
		"the newest of the minor version":  {[]string{"v1.34.1+lke1", "v1.33.6+lke9", "v1.33.6+lke8"}, "v1.33.6+lke9"},
		"only a newer minor version":       {[]string{"v1.34.1+lke1"}, ""},
		"an older build":                   {[]string{"v1.33.6+lke6"}, "v1.33.6+lke6"},
		"rather an older than a newer one": {[]string{"v1.33.6+lke9", "v1.33.6+lke6"}, "v1.33.6+lke6"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, sim.Config{Tier: "enterprise", Versions: tt.offered, MaxInstances: 20,
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

// burst is a rig whose claims allow several plan types, and are replanned as the chooser does it. It notes what was
// said of each claim: one text is one event, however often it comes.
type burst struct {
	*rig
	plans   []string
	said    map[string]map[string]int // by the kind of wait and the claim: how many texts
	texts   map[string]bool
	renewed map[string]time.Time // when a claim's time to register began
}

// say notes an event. The caller has the lock.
func (b *burst) say(kind, uid, text string) {
	if b.texts[kind+uid+text] {
		return
	}
	b.texts[kind+uid+text] = true
	if b.said[kind] == nil {
		b.said[kind] = map[string]int{}
	}
	b.said[kind][uid]++
}

// ReplanOrDelete gives a claim the first plan type that is offered, and notes why it left its own.
func (b *burst) ReplanOrDelete(_ context.Context, uid, reason string) error {
	b.book.mu.Lock()
	defer b.book.mu.Unlock()
	c := b.book.claims[uid]
	i := slices.IndexFunc(b.plans, b.offered)
	if i < 0 || c.Instance != 0 {
		b.t.Errorf("no plan type is left for %s: %s", uid, reason)
		return nil
	}
	switch {
	case strings.HasPrefix(reason, "plan "+c.Group.Plan+" is closed to this account"):
		b.say("closed "+c.Group.Plan, uid, reason)
	case strings.HasPrefix(reason, "no capacity for "+c.Group.Plan):
		b.say("out of stock "+c.Group.Plan, uid, reason)
	default:
		b.t.Errorf("%s was deleted: %s", uid, reason)
	}
	c.Group.Plan = b.plans[i]
	b.book.claims[uid] = c
	return nil
}

// Extend says that LKE is waited for as NodeClaims.Extend does.
func (b *burst) Extend(_ context.Context, uid string) error {
	b.book.mu.Lock()
	defer b.book.mu.Unlock()
	if since, ok := b.renewed[uid]; !ok {
		b.renewed[uid] = b.book.claims[uid].Created
	} else if time.Since(since) >= 5*time.Minute {
		b.renewed[uid] = time.Now()
		b.say("WaitsForLKE", uid, "LKE has taken the order")
	}
	return nil
}

func (b *burst) NotDeleted(ctx context.Context, uid, reason, text string) error {
	b.Warn(ctx, uid, reason, text)
	return nil
}

func (b *burst) Warn(_ context.Context, uid, reason, text string) {
	b.book.mu.Lock()
	defer b.book.mu.Unlock()
	b.say(reason, uid, text)
}

func (b *burst) List(ctx context.Context) ([]capacity.Claim, error) { return b.book.List(ctx) }
func (b *burst) Bind(ctx context.Context, bind capacity.Bind) error { return b.book.Bind(ctx, bind) }
func (b *burst) WarnNodePool(ctx context.Context, name, reason, text string) {
	b.book.WarnNodePool(ctx, name, reason, text)
}
func (b *burst) Lose(ctx context.Context, uid string, instance int, reason string) error {
	return b.book.Lose(ctx, uid, instance, reason)
}

// room is how many pods that request so much memory fit.
func room(free *resource.Quantity, pod int64) int { return int(free.Value() / pod) }

// promised is how many pods a node of a plan type is planned for.
func (b *burst) promised(plan string, pod int64) int {
	for _, it := range b.types.List() {
		if it.Name == plan {
			free := it.Allocatable()
			return room(free.Memory(), pod)
		}
	}
	b.t.Fatalf("there is no plan type %s", plan)
	return 0
}

// wave makes claims for so many pods, as many to a node as are promised of the first plan type that is offered.
func (b *burst) wave(pods int, pod int64) (claims, perNode int) {
	i := slices.IndexFunc(b.plans, b.offered)
	perNode = b.promised(b.plans[i], pod)
	claims = (pods + perNode - 1) / perNode
	b.wantOfPlan("web", b.plans[i], claims)
	return claims, perNode
}

// TestABurstOnEnterprise plays the whole profile at once: 100 pods, and 25 more later. Nodes are listed after
// ten minutes and have 25 % less memory than their plan, the build of the control plane is retired, the first
// plan type is closed to the account, and of the second there are 10 at first, any number after five minutes,
// and none in the second wave. There are as many machines as needed, each with room for the pods that it was
// made for; no plan type is blocked for another reason; and each claim has one event for each kind of wait.
func TestABurstOnEnterprise(t *testing.T) {
	const closed, flaky, spare, pod = "g6-standard-4", "g6-dedicated-4", "g6-standard-6", int64(1400) << 20
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{
			Tier: "enterprise", InstanceDelay: 20 * time.Second, ListDelay: 10 * time.Minute, Jitter: 0.2, MemoryKept: 25,
			KubernetesVersion: "v1.33.6+lke7", Versions: []string{"v1.34.1+lke1", "v1.33.6+lke9"},
		})
		defer func() { r.kill() }()
		r.kill()
		b := &burst{
			rig: r, plans: []string{closed, flaky, spare}, said: map[string]map[string]int{}, texts: map[string]bool{},
			renewed: map[string]time.Time{},
		}
		r.claims = b
		r.start("enterprise")
		//nolint:staticcheck // NewClientset spends five milliseconds of each write on managed fields, which are not read.
		nodes := kubernetes.NewSimpleClientset()
		ctx, stop := context.WithCancel(t.Context())
		var kubelets sync.WaitGroup
		kubelets.Go(func() { _ = r.sim.RunNodes(ctx, nodes, nil, nil) })
		defer kubelets.Wait()
		defer stop()
		synctest.Wait() // a fake API server does not tell a watch what came between its list and itself
		r.inject(sim.Fault{NoCapacity: sim.Refuse, Plan: closed, Body: sim.PlanClosed})
		r.inject(sim.Fault{NoCapacity: sim.Refuse, Plan: flaky, Room: 10, Name: "stock"})
		kubelets.Go(func() { // everything that is blocked is so for a reason
			for ctx.Err() == nil {
				for plan := range r.types.Blocked() {
					if plan != closed && plan != flaky {
						t.Errorf("%s is blocked", plan)
					}
				}
				sleep(ctx, time.Second)
			}
		})

		start := time.Now()
		first, perNode := b.wave(100, pod)
		time.Sleep(5 * time.Minute)
		r.sim.EndFaults("stock")
		r.until("all claims have machines", r.bound)
		if took := time.Since(start); took > 14*time.Minute {
			t.Errorf("took %s", took)
		}
		time.Sleep(20 * time.Minute)
		b.expect(map[string]int{
			"closed " + closed: first, "out of stock " + flaky: first - 10, "KubernetesBuildReplaced": -1, "WaitsForLKE": first,
		})
		b.hold(nodes, pod, perNode, first)

		// The stock goes again.
		if r.offered(closed) || !r.offered(flaky) || !r.offered(spare) {
			t.Errorf("offered: %v %v %v", r.offered(closed), r.offered(flaky), r.offered(spare))
		}
		r.inject(sim.Fault{NoCapacity: sim.Refuse, Plan: flaky, Name: "stock"})
		second, _ := b.wave(25, pod)
		r.until("the second wave has machines", r.bound)
		r.sim.EndFaults("stock")
		time.Sleep(time.Hour)
		b.expect(map[string]int{
			"closed " + closed: first, "out of stock " + flaky: first - 10 + second, "KubernetesBuildReplaced": -1,
			"WaitsForLKE": first + second,
		})
		b.hold(nodes, pod, perNode, first+second)
		if r.offered(closed) || !r.offered(flaky) || !r.offered(spare) {
			t.Errorf("at the end are offered: %v %v %v", r.offered(closed), r.offered(flaky), r.offered(spare))
		}
	})
}

// expect compares for how many claims each kind of wait was said: once for each of them. -1 is some of them.
func (b *burst) expect(want map[string]int) {
	b.t.Helper()
	b.book.mu.Lock()
	defer b.book.mu.Unlock()
	for kind, claims := range b.said {
		if n, known := want[kind]; !known || n >= 0 && len(claims) != n {
			b.t.Errorf("%s was said of %d claims, want %d", kind, len(claims), n)
		}
		for uid, times := range claims {
			if times != 1 {
				b.t.Errorf("%s was said of %s in %d ways", kind, uid, times)
			}
		}
	}
	for kind := range want {
		if len(b.said[kind]) == 0 {
			b.t.Errorf("%s was never said", kind)
		}
	}
}

// hold compares the machines with the claims: as many, none deleted, and each has room for the pods that it
// was made for.
func (b *burst) hold(nodes *kubernetes.Clientset, pod int64, perNode, machines int) {
	b.t.Helper()
	if stats := b.sim.Stats(); stats.Made != machines || stats.Deleted != 0 {
		b.t.Errorf("%d machines made and %d deleted for %d claims", stats.Made, stats.Deleted, machines)
	}
	list, err := nodes.CoreV1().Nodes().List(b.t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != machines {
		b.t.Errorf("%d nodes for %d machines: %v", len(list.Items), machines, err)
	}
	for _, n := range list.Items {
		if fit := room(n.Status.Allocatable.Memory(), pod); fit < perNode {
			b.t.Errorf("%d pods fit on Node %s, %d were planned", fit, n.Name, perNode)
		}
	}
}

// sleep lets time pass until then, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
