package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/controllers/state/informer"
	staticdeprovisioning "sigs.k8s.io/karpenter/pkg/controllers/static/deprovisioning"
	staticprovisioning "sigs.k8s.io/karpenter/pkg/controllers/static/provisioning"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// staticWorld is a cluster with Karpenter's state, provisioner and static.provisioning. In each
// second NodeClaims get machines or are refused, and all NodePools are reconciled.
type staticWorld struct {
	*staticPools
	t      *testing.T
	server client.WithWatch
	time   *clocktesting.FakeClock
	queue  queue
	told   *k8sevents.FakeRecorder

	stock    int
	takes    time.Duration // from a NodeClaim to its machine or refusal
	refusing func() error  // what happens when a NodeClaim is created
	looking  func()        // what happens when Karpenter's state next reads the clock
	made     int
	unsynced int // seconds for which Karpenter has planned nothing
	longest  int // of these at a time
}

func newStaticWorld(t *testing.T, pools ...*karpv1.NodePool) *staticWorld {
	t.Helper()
	instancetype.Register()
	w := &staticWorld{t: t, time: clocktesting.NewFakeClock(worldStart), takes: batchAge, told: k8sevents.NewFakeRecorder(1000), refusing: func() error { return nil },
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
	t.Cleanup(w.queue.ShutDown)
	objects := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(&karpv1.NodePool{}, &karpv1.NodeClaim{})
	for _, pool := range pools {
		objects.WithObjects(pool)
	}
	var making sync.Mutex
	w.server = objects.WithIndex(&corev1.Node{}, "spec.providerID",
		func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&corev1.Pod{}, "spec.nodeName",
			func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object,
			opts ...client.CreateOption) error {
			if _, ok := o.(*karpv1.NodeClaim); !ok {
				return c.Create(ctx, o, opts...)
			}
			making.Lock()
			defer making.Unlock()
			if err := w.refusing(); err != nil {
				return err
			}
			w.made++
			o.SetName(fmt.Sprintf("%s%d", o.GetGenerateName(), w.made))
			o.SetUID(types.UID(o.GetName()))
			o.SetCreationTimestamp(metav1.NewTime(w.time.Now()))
			return c.Create(ctx, o, opts...)
		}}).Build()
	w.restart()
	return w
}

// restart makes another process the leader.
func (w *staticWorld) restart() {
	w.staticPools = newStaticPools(w.server, w.told, w.time)
	w.cluster = state.NewCluster(stateClock{w.time, &w.looking}, w.server, &linode.Provider{})
	c := claimClient{w.server, "us-ord", w.staticPools}
	w.brake = brake{w.server, w.server, w.time}
	w.deprovisioning = staticdeprovisioning.NewController(startingClient{c, w.brake}, w.cluster, &linode.Provider{}, w.time, noEvents{})
	w.karpenter = staticprovisioning.NewController(c, w.cluster, noEvents{}, &linode.Provider{}, nil, w.time, nil,
		nil)
	for _, nc := range w.all() {
		w.cluster.UpdateNodeClaim(&nc)
	}
}

// stateClock is the clock of Karpenter's state, which reads it in the middle of changes.
type stateClock struct {
	*clocktesting.FakeClock
	looking *func()
}

func (c stateClock) Now() time.Time {
	if look := *c.looking; look != nil {
		*c.looking = nil
		look()
	}
	return c.FakeClock.Now()
}

// batchAge is the age at which the provider answers for a NodeClaim.
const batchAge = 2 * time.Second

var worldStart = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// noEvents is Karpenter's recorder.
type noEvents struct{}

func (noEvents) Publish(...events.Event) {}

func (w *staticWorld) all() []karpv1.NodeClaim {
	w.t.Helper()
	var list karpv1.NodeClaimList
	w.must(w.server.List(w.t.Context(), &list))
	return list.Items
}

func (w *staticWorld) nodePools() []karpv1.NodePool {
	w.t.Helper()
	var list karpv1.NodePoolList
	w.must(w.server.List(w.t.Context(), &list))
	return list.Items
}

func (w *staticWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// run lets time pass.
func (w *staticWorld) run(d time.Duration) {
	w.t.Helper()
	ctx := options.ToContext(w.t.Context(), Karpenter{}.options())
	for range int(d / time.Second) {
		w.time.Step(time.Second)
		for _, nc := range w.all() {
			was, age := nc.DeepCopy(), w.time.Since(nc.CreationTimestamp.Time)
			switch {
			case hasMachine(was):
			case age >= w.takes || w.stock > 0:
				w.decide(was, &nc)
			case age >= batchAge && nc.Status.ProviderID == "":
				nc.Status.ProviderID = nodeclaim.PendingID(string(nc.UID))
				w.must(w.server.Status().Update(ctx, &nc))
				w.cluster.UpdateNodeClaim(&nc)
			}
		}
		if w.unsynced++; w.cluster.Synced(ctx) {
			w.unsynced = 0
		}
		w.longest = max(w.longest, w.unsynced)
		for _, pool := range w.nodePools() {
			_, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&pool)})
			w.must(err)
		}
	}
}

// decide gives a NodeClaim a machine, or refuses it; then Karpenter deletes it.
func (w *staticWorld) decide(was, nc *karpv1.NodeClaim) {
	w.t.Helper()
	ctx := w.t.Context()
	if w.stock > 0 {
		w.stock--
		nc.Status.ProviderID = nodeclaim.LinodeID(1000 + w.stock)
		w.must(w.server.Status().Update(ctx, nc))
		w.cluster.UpdateNodeClaim(nc)
		w.saw(was, nc, w.queue)
		return
	}
	if nc.Status.ProviderID == "" {
		w.refused(nc, errors.New("no plan is available"))
	}
	w.must(w.server.Delete(ctx, nc))
	w.must(w.server.Get(ctx, client.ObjectKeyFromObject(nc), nc))
	w.saw(was, nc, w.queue)
	nc.Finalizers = nil
	w.must(w.server.Update(ctx, nc))
	w.cluster.DeleteNodeClaim(nc.Name)
	w.saw(nil, nc, w.queue)
}

// change changes a NodePool as a user does.
func (w *staticWorld) change(name string, change func(*karpv1.NodePool)) {
	w.t.Helper()
	var pool karpv1.NodePool
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Name: name}, &pool))
	change(&pool)
	w.must(w.server.Update(w.t.Context(), &pool))
	w.wake(name)
}

func (w *staticWorld) condition(name string) string {
	w.t.Helper()
	var pool karpv1.NodePool
	w.must(w.server.Get(w.t.Context(), client.ObjectKey{Name: name}, &pool))
	if c := replicaFailure(&pool); c.IsTrue() {
		return c.Message
	}
	return ""
}

func staticPool(name string, replicas int64) *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pool.Spec.Replicas = &replicas
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group,
		Kind: "LinodeNodeClass", Name: "default"}
	conditions := pool.StatusConditions()
	for _, c := range conditions.List() {
		conditions.SetTrue(c.Type)
	}
	return pool
}

// TestStaticPoolsWaitAfterFailures: NodeClaims of NodePools whose machines are unavailable do not
// block Karpenter from planning for others.
func TestStaticPoolsWaitAfterFailures(t *testing.T) {
	const all = 1000
	for name, tt := range map[string]struct {
		pools []*karpv1.NodePool
		do    func(w *staticWorld)
		most  int    // NodeClaims created, at most
		left  int    // NodeClaims in the end
		says  string // the condition of pool a in the end
	}{
		"two replicas out of stock": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do:    func(w *staticWorld) { w.run(10 * time.Minute) },
			most:  8, says: "0 of 2 replicas have a machine; the next one is unavailable: no plan is available; next attempt at 00:",
		},
		"two NodePools": {
			pools: []*karpv1.NodePool{staticPool("a", 2), staticPool("b", 2)},
			do:    func(w *staticWorld) { w.run(10 * time.Minute) },
			most:  16, says: "0 of 2",
		},
		"a hundred replicas": {
			pools: []*karpv1.NodePool{staticPool("a", 100)},
			do:    func(w *staticWorld) { w.run(10 * time.Minute) },
			most:  106, says: "0 of 100",
		},
		"too many replicas": {
			pools: []*karpv1.NodePool{staticPool("a", 1<<40)},
			do:    func(w *staticWorld) { w.run(time.Second) },
			most:  mostWaiting, left: mostWaiting,
		},
		"machines that never appear": {
			pools: []*karpv1.NodePool{staticPool("a", 5)},
			do:    func(w *staticWorld) { w.takes = 16 * time.Minute; w.run(40 * time.Minute) },
			most:  7, left: 1, says: "0 of 5",
		},
		"room for one of two": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do:    func(w *staticWorld) { w.stock = 1; w.run(10 * time.Minute) },
			most:  8, left: 1, says: "1 of 2",
		},
		"stock that returns": {
			pools: []*karpv1.NodePool{staticPool("a", 30)},
			do: func(w *staticWorld) {
				w.run(10 * time.Minute)
				w.stock = all
				w.run(longestDelay + time.Minute)
			},
			most: 30 + 6 + 30, left: 30,
		},
		"stock that trickles": {
			pools: []*karpv1.NodePool{staticPool("a", 30)},
			do: func(w *staticWorld) {
				for range 5 {
					w.run(2 * longestDelay)
					w.stock = 1
				}
			},
			most: 80, left: 4, says: "4 of 30",
		},
		"a limit that is raised": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do: func(w *staticWorld) {
				w.run(10 * time.Minute)
				w.stock = all
				w.wakeAll(w.queue)
				w.run(20 * time.Second)
			},
			most: 30, left: 2,
		},
		"a NodePool that is changed": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do: func(w *staticWorld) {
				w.run(10 * time.Minute)
				w.stock = all
				w.change("a", func(pool *karpv1.NodePool) { *pool.Spec.Replicas = 3 })
				w.run(20 * time.Second)
			},
			most: 30, left: 3,
		},
		"changes all the time": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do: func(w *staticWorld) {
				for range 10 {
					w.run(time.Minute)
					w.wakeAll(w.queue)
				}
			},
			most: 20, says: "0 of 2",
		},
		"replicas that are lowered": {
			pools: []*karpv1.NodePool{staticPool("a", 3)},
			do: func(w *staticWorld) {
				w.stock = 1
				w.run(5 * time.Minute)
				w.change("a", func(pool *karpv1.NodePool) { *pool.Spec.Replicas = 1 })
				w.run(time.Minute)
			},
			most: 8, left: 1,
		},
		"a NodePool that is deleted and created again": {
			pools: []*karpv1.NodePool{staticPool("a", 2)},
			do: func(w *staticWorld) {
				w.run(10 * time.Minute)
				w.must(w.server.Delete(w.t.Context(), staticPool("a", 2)))
				w.forget("a")
				w.run(time.Minute)
				w.stock = all
				w.must(w.server.Create(w.t.Context(), staticPool("a", 2)))
				w.run(5 * time.Second)
			},
			most: 10, left: 2,
		},
		"leaders that change": {
			pools: []*karpv1.NodePool{staticPool("a", 100)},
			do: func(w *staticWorld) {
				for range 5 {
					w.run(time.Minute)
					w.restart()
				}
				w.run(5 * time.Minute)
			},
			most: 100 + 5*3 + 5, says: "0 of 100",
		},
		"a NodeClaim that a user deletes": {
			pools: []*karpv1.NodePool{staticPool("a", 1)},
			do: func(w *staticWorld) {
				w.run(time.Second)
				nc := w.all()[0]
				w.decide(nc.DeepCopy(), &nc)
				w.stock = all
				w.run(30 * time.Second)
			},
			most: 2, left: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStaticWorld(t, tt.pools...)
			tt.do(w)
			if w.made > tt.most || len(w.all()) != tt.left {
				t.Errorf("%d NodeClaims were created, want at most %d; %d are left, want %d", w.made, tt.most,
					len(w.all()), tt.left)
			}
			if says := w.condition("a"); (says == "") != (tt.says == "") || !strings.HasPrefix(says, tt.says) {
				t.Errorf("the condition says %q, want %q", says, tt.says)
			}
			if w.longest > 5 {
				t.Errorf("Karpenter planned nothing for %d seconds", w.longest)
			}
		})
	}
}

// TestStaticPoolsReportEachFailure by an event, and that is all they tell.
func TestStaticPoolsReportEachFailure(t *testing.T) {
	w := newStaticWorld(t, staticPool("a", 2))
	w.run(time.Minute)
	close(w.told.Events)
	var all []string
	for e := range w.told.Events {
		all = append(all, e)
	}
	const want = "Warning ReplicaFailure 0 of 2 replicas have a machine; the next one is unavailable: no plan is available"
	if len(all) != 3 || !strings.HasPrefix(all[0], want) {
		t.Errorf("events %q", all)
	}
}

// TestDriftWaitsWithItsPool: Karpenter replaces nodes of NodePools with replicas within the limit that it sees.
func TestDriftWaitsWithItsPool(t *testing.T) {
	limited := staticPool("a", 2)
	limited.Spec.Limits = karpv1.Limits{resources.Node: resource.MustParse("3")}
	w := newStaticWorld(t, limited, staticPool("b", 2))
	w.stock = 4
	w.run(10 * time.Second)
	replacements := func() (granted []int64) {
		c := claimClient{w.server, "us-ord", w.staticPools}
		var list karpv1.NodePoolList
		w.must(c.List(t.Context(), &list))
		for _, pool := range list.Items {
			limit, ok := pool.Spec.Limits[resources.Node]
			if !ok {
				limit = *resource.NewQuantity(1<<40, resource.DecimalSI)
			}
			n := w.cluster.NodePoolState.ReserveNodeCount(pool.Name, limit.Value(), 5)
			w.cluster.NodePoolState.ReleaseNodeCount(pool.Name, n)
			granted = append(granted, n)
		}
		return granted
	}
	w.cluster.NodePoolState.ReserveNodeCount("a", 4, 1) // as StaticDrift does, which did not make the NodeClaim
	if got, want := replacements(), []int64{1, 5}; !slices.Equal(got, want) {
		t.Errorf("%d may be replaced at a time, want %d", got, want)
	}
	for _, pool := range []string{"a", "b"} { // whose replacements are refused
		nc := karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: pool + "-next", UID: types.UID(pool),
			Labels: map[string]string{karpv1.NodePoolLabelKey: pool}, CreationTimestamp: metav1.NewTime(w.time.Now()),
			DeletionTimestamp: new(metav1.NewTime(w.time.Now()))}}
		w.saw(nil, &nc, w.queue)
	}
	if got, want := replacements(), []int64{0, 0}; !slices.Equal(got, want) {
		t.Errorf("after a failure %d may be replaced at a time, want %d", got, want)
	}
	w.time.Step(shortestDelay)
	if got, want := replacements(), []int64{1, 1}; !slices.Equal(got, want) {
		t.Errorf("after the delay %d may be replaced at a time, want %d", got, want)
	}
}

// TestStaticPoolsCountNodeClaimsWhoseIDsChange: Karpenter's state removes such a NodeClaim for a moment. If nodes are
// counted then, another NodeClaim is created, or the limit of the pool exceeded.
func TestStaticPoolsCountNodeClaimsWhoseIDsChange(t *testing.T) {
	ctx := options.ToContext(t.Context(), Karpenter{}.options())
	limited := staticPool("a", 2)
	limited.Spec.Limits = karpv1.Limits{resources.Node: resource.MustParse("3")}
	for name, tt := range map[string]struct {
		pool     *karpv1.NodePool
		replaced bool // one of the NodeClaims is drifted, and waits for its replacement
		count    func(*staticWorld) (created int, err error)
	}{
		"by static.provisioning": {pool: staticPool("a", 1), count: func(w *staticWorld) (int, error) {
			before := w.made
			_, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}})
			return w.made - before, err
		}},
		"by StaticDrift": {pool: limited, replaced: true, count: func(w *staticWorld) (int, error) {
			drift := countedDrift{disruption.NewStaticDrift(w.cluster, nil, &linode.Provider{}, noEvents{}), w.staticPools}
			var list karpv1.NodePoolList
			if err := (claimClient{w.server, "us-ord", w.staticPools}).List(ctx, &list); err != nil {
				return 0, err
			}
			node := &state.StateNode{Node: &corev1.Node{}, NodeClaim: &w.all()[0]}
			commands, err := drift.ComputeCommands(ctx, map[string]int{"a": 1}, &disruption.Candidate{StateNode: node, NodePool: &list.Items[0]})
			return len(commands), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStaticWorld(t, tt.pool)
			if tt.replaced {
				w.stock = 2
				w.run(5 * time.Second)
				next := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Labels: w.all()[0].Labels}, Spec: w.all()[0].Spec}
				w.must(w.server.Create(ctx, next))
				w.cluster.UpdateNodeClaim(next.DeepCopy())
				w.cluster.MarkForDeletion(w.all()[0].Status.ProviderID)
			} else {
				w.run(time.Second)
			}
			latest := w.all()[w.made-1]
			latest.Status.ProviderID = nodeclaim.PendingID(string(latest.UID))
			w.must(w.server.Status().Update(ctx, &latest))

			type result struct {
				created int
				err     error
			}
			done := make(chan result, 1)
			w.looking = func() {
				go func() {
					created, err := tt.count(w)
					done <- result{created, err}
				}()
				time.Sleep(100 * time.Millisecond) // if the count does not wait, it is over now
			}
			var informed *informer.NodeClaimController
			for _, c := range disruptionControllers(ctx, w.time, claimClient{w.server, "us-ord", w.staticPools}, &linode.Provider{},
				noEvents{}, brake{}, nil, true) {
				if c, ok := c.(*informer.NodeClaimController); ok {
					informed = c
				}
			}
			_, err := informed.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&latest)})
			w.must(err)
			if got := <-done; got.created != 0 || got.err != nil {
				t.Errorf("%d NodeClaims more than wanted are created, %v", got.created, got.err)
			}
		})
	}
}
