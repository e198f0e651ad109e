package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// staticPools wraps Karpenter's controller static.provisioning, which creates the NodeClaims of
// NodePools with replicas (karpenter v1.15.0).
//
// Karpenter creates the next NodeClaim as soon as one is deleted, and plans nothing for any NodePool
// while there is a NodeClaim without a provider ID (Cluster.Synced in
// pkg/controllers/state/cluster.go). A NodePool whose machines are unavailable would create and delete
// NodeClaims endlessly, and no other NodePool would get a node. Here a NodePool waits after each
// failure, longer each time, and then retries with one NodeClaim.
//
// The number that it may create is shown to Karpenter as the limit of nodes, by which StaticDrift reserves, too.
//
// When the provider ID of a NodeClaim changes, Karpenter's state removes the NodeClaim, and adds it
// again (newStateFromNodeClaim in pkg/controllers/state/cluster.go). The same event triggers
// static.provisioning, which would miss the NodeClaim, and create another. Here NodePools with replicas
// are not counted while an ID changes: see stateClient, Reconcile and countedDrift.
type staticPools struct {
	client    client.Client
	cluster   *state.Cluster
	karpenter reconcile.ObjectReconciler[*karpv1.NodePool] // the wrapped controller
	// deprovisioning deletes the nodes above the replicas. It runs here, so that it can wait while disruption is stopped.
	deprovisioning reconcile.ObjectReconciler[*karpv1.NodePool]
	brake          brake
	plan           func(types.UID) // triggers Karpenter's planning
	events         k8sevents.EventRecorder
	clock          clock.PassiveClock

	counting sync.Mutex // held while the nodes of a NodePool are counted, and while the ID of a NodeClaim changes

	mu    sync.Mutex
	pools map[string]*backoff // by the name of the NodePool
}

func newStaticPools(c client.Client, recorder k8sevents.EventRecorder, clk clock.PassiveClock) *staticPools {
	return &staticPools{client: c, events: recorder, clock: clk, pools: map[string]*backoff{}}
}

// Register implements operatorpkg's Controller.
func (s *staticPools) Register(_ context.Context, mgr manager.Manager) error {
	changed := func(ev event.UpdateEvent) bool { return ev.ObjectOld.GetGeneration() != ev.ObjectNew.GetGeneration() }
	// Any NodePool may have failed because of one of these.
	cause := handler.Funcs{
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, q queue) {
			if changed(ev) {
				s.wakeAll(q)
			}
		},
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { s.wakeAll(q) },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("static.provisioning").
		Watches(&karpv1.NodePool{}, handler.Funcs{
			CreateFunc: func(_ context.Context, ev event.CreateEvent, q queue) { enqueuePool(q, ev.Object.GetName()) },
			UpdateFunc: func(_ context.Context, ev event.UpdateEvent, q queue) {
				if changed(ev) || !isReady(ev.ObjectOld) && isReady(ev.ObjectNew) {
					s.wake(ev.ObjectNew.GetName())
				}
				enqueuePool(q, ev.ObjectNew.GetName())
			},
			DeleteFunc: func(_ context.Context, ev event.DeleteEvent, _ queue) { s.forget(ev.Object.GetName()) },
		}).
		Watches(&karpv1.NodeClaim{}, handler.Funcs{
			CreateFunc: func(_ context.Context, ev event.CreateEvent, q queue) { s.saw(nil, ev.Object, q) },
			UpdateFunc: func(_ context.Context, ev event.UpdateEvent, q queue) { s.saw(ev.ObjectOld, ev.ObjectNew, q) },
			DeleteFunc: func(_ context.Context, ev event.DeleteEvent, q queue) {
				s.saw(nil, ev.Object, q)
				s.replan(ev.Object)
			},
		}).
		Watches(&linodev1alpha1.LinodeNodeClass{}, cause).
		Watches(&lkeplanv1alpha1.CapacityLimit{}, cause).
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: 10}). // like in Karpenter
		Complete(s)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func enqueuePool(q queue, pool string) {
	q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: pool}})
}

func isReady(o client.Object) bool {
	pool, ok := o.(*karpv1.NodePool)
	return ok && pool.StatusConditions(status.WithObservedOnly()).IsTrue(status.ConditionReady)
}

// wake ends the wait of a NodePool, because the cause of its failure may be fixed.
func (s *staticPools) wake(pool string) {
	s.update(pool, func(b *backoff) { b.until = time.Time{} })
}

func (s *staticPools) wakeAll(q queue) {
	s.mu.Lock()
	names := slices.Collect(maps.Keys(s.pools))
	s.mu.Unlock()
	for _, name := range names {
		s.wake(name)
		enqueuePool(q, name)
	}
}

func (s *staticPools) forget(pool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pools, pool)
}

// update changes the back-off of a NodePool with replicas. Other NodePools have none.
func (s *staticPools) update(pool string, change func(*backoff)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.pools[pool]; b != nil {
		change(b)
	}
}

// refused records why a NodeClaim gets no machine. Karpenter deletes it next.
func (s *staticPools) refused(nc *karpv1.NodeClaim, why error) {
	s.update(nc.Labels[karpv1.NodePoolLabelKey], func(b *backoff) {
		if b.refusals == nil {
			b.refusals = map[types.UID]string{}
		}
		b.refusals[nc.UID] = why.Error()
	})
}

// saw records that a NodeClaim was deleted without a machine, or has just got one.
func (s *staticPools) saw(old, o client.Object, q queue) {
	nc, ok := o.(*karpv1.NodeClaim)
	pool := o.GetLabels()[karpv1.NodePoolLabelKey]
	if !ok || pool == "" {
		return
	}
	was, _ := old.(*karpv1.NodeClaim)
	s.update(pool, func(b *backoff) {
		switch {
		case goesWithoutMachine(nc):
			b.fail(nc, s.clock.Now())
		case was != nil && !hasMachine(was) && hasMachine(nc):
			b.succeed(nc)
		}
	})
	enqueuePool(q, pool)
}

// replan triggers Karpenter's planning when a NodeClaim without a provider ID is gone. Karpenter did
// not plan while it existed, and would do so only ten seconds after it last saw a pod.
func (s *staticPools) replan(o client.Object) {
	if nc, ok := o.(*karpv1.NodeClaim); ok && nc.Status.ProviderID == "" && s.plan != nil {
		s.plan(nc.UID)
	}
}

func hasMachine(nc *karpv1.NodeClaim) bool { return nodeclaim.InstanceOf(nc.Status.ProviderID) != 0 }

func goesWithoutMachine(nc *karpv1.NodeClaim) bool {
	return !nc.DeletionTimestamp.IsZero() && !hasMachine(nc)
}

// Reconcile lets Karpenter create the NodeClaims that one NodePool lacks, unless it has to wait.
func (s *staticPools) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pool karpv1.NodePool
	if err := s.client.Get(ctx, req.NamespacedName, &pool); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pool.Spec.Replicas == nil || !pool.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if !s.brake.state(ctx).Stopped() {
		if _, err := s.deprovisioning.Reconcile(ctx, pool.DeepCopy()); err != nil {
			return ctrl.Result{}, err
		}
	}
	shown := pool.DeepCopy()
	b, more, err := s.show(ctx, shown)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := s.say(ctx, &pool, b); apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	} else if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if wait := b.until.Sub(s.clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if more == 0 { // waiting NodeClaims get a machine or are deleted
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	// Until all NodeClaims are created, other changes of IDs wait. That delays no planning: Karpenter plans
	// nothing while a NodeClaim has no ID.
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.karpenter.Reconcile(ctx, shown)
}

// stateClient is the client of Karpenter's controller that maintains the state of NodeClaims. It makes the
// change of a provider ID before that controller does, while no NodePool with replicas is counted.
type stateClient struct {
	client.Client
	provider cloudprovider.CloudProvider
	static   *staticPools
}

// Get implements client.Client.
func (c stateClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	if nc, ok := o.(*karpv1.NodeClaim); ok && nodeclaimutils.IsManaged(nc, c.provider) {
		c.static.counting.Lock()
		defer c.static.counting.Unlock()
		c.static.cluster.UpdateNodeClaim(nc)
	}
	return nil
}

// countedDrift is Karpenter's StaticDrift. It counts nodes while no ID changes, or its replacements could
// exceed the limit of a NodePool.
type countedDrift struct {
	disruption.Method
	static *staticPools
}

// ComputeCommands implements disruption.Method.
func (d countedDrift) ComputeCommands(ctx context.Context, budgets map[string]int, candidates ...*disruption.Candidate,
) ([]disruption.Command, error) {
	d.static.counting.Lock()
	defer d.static.counting.Unlock()
	return d.Method.ComputeCommands(ctx, budgets, candidates...)
}

// cacheLag is when to check again if the cache is behind.
const cacheLag = time.Second

// show sets the limit of nodes that Karpenter sees for a NodePool with replicas: its configured limit,
// or less if it failed to get machines, or if it lacks more than Karpenter can create at a time. more
// is how many NodeClaims can be created.
func (s *staticPools) show(ctx context.Context, pool *karpv1.NodePool) (b backoff, more int, err error) {
	if pool.Spec.Replicas == nil {
		return b, 0, nil
	}
	count := s.cluster.NodePoolState
	active, deleting, pending := count.GetNodeCount(pool.Name)
	if int64(active+pending) >= *pool.Spec.Replicas {
		// Only drift reserves now, and StaticDrift does not release unused reservations.
		count.ReleaseNodeCount(pool.Name, math.MaxInt64)
	}
	b, err = s.backoff(ctx, pool)
	if err != nil {
		return b, 0, err
	}
	// NodeClaims that were just created may be missing in the cache, but are in Karpenter's state.
	waiting := active + pending - b.served
	if waiting <= 0 && b.most > 0 && s.clock.Since(b.failed) > 2*longestDelay { // it has lacked none since
		s.forget(pool.Name)
	}
	more = b.allows(waiting, s.clock.Now())
	bound := *resource.NewQuantity(int64(active+deleting+pending+more), resource.DecimalSI)
	if limit, ok := pool.Spec.Limits[resources.Node]; ok {
		if limit.Cmp(bound) < 0 {
			bound = limit
		}
	}
	pool.Spec.Limits = karpv1.Limits{resources.Node: bound} // a NodePool with replicas has no other limit
	return b, more, nil
}

// backoff returns a copy of a NodePool's back-off. Its conditions contain what an earlier process knew.
func (s *staticPools) backoff(ctx context.Context, pool *karpv1.NodePool) (backoff, error) {
	var list karpv1.NodeClaimList
	ours := client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name}
	if err := s.client.List(ctx, &list, ours, client.UnsafeDisableDeepCopy); err != nil {
		return backoff{}, fmt.Errorf("list the NodeClaims of NodePool %s: %w", pool.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.pools[pool.Name]
	if b == nil {
		b = &backoff{}
		if replicaFailure(pool).IsTrue() {
			*b = backoff{failures: 1, most: 1, failed: s.clock.Now(), said: 1}
		}
		s.pools[pool.Name] = b
	}
	b.served, b.drifted = 0, false
	for i := range list.Items {
		switch nc := &list.Items[i]; {
		case goesWithoutMachine(nc): // its event may arrive later
			b.fail(nc, s.clock.Now())
		case nc.DeletionTimestamp.IsZero() && hasMachine(nc):
			b.served++
			b.drifted = b.drifted ||
				nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted).IsTrue()
		}
	}
	return *b, nil
}

func replicaFailure(pool *karpv1.NodePool) *status.Condition {
	return pool.StatusConditions(status.WithObservedOnly()).Get(linode.ConditionReplicaFailure)
}

// say writes the condition and the event of a NodePool whose machines are unavailable.
func (s *staticPools) say(ctx context.Context, pool *karpv1.NodePool, b backoff) error {
	stored := pool.DeepCopy()
	conditions := pool.StatusConditions(status.WithObservedOnly())
	switch lacks := int64(b.served) < *pool.Spec.Replicas || b.drifted; {
	case b.failures == 0 || !lacks:
		if replicaFailure(pool) != nil {
			_ = conditions.Clear(linode.ConditionReplicaFailure) // it fails only for parts of Ready
		}
	case b.why != "": // otherwise the condition contains what an earlier process knew
		text := fmt.Sprintf("%d of %d replicas have a machine; the next one is unavailable: %s; next attempt at %s",
			b.served, *pool.Spec.Replicas, diag.Shorten(b.why, mostSaid), b.again.UTC().Format("15:04:05 UTC"))
		conditions.SetTrueWithReason(linode.ConditionReplicaFailure, "NoMachine", text)
		if b.said < b.failures {
			s.events.Eventf(pool, nil, corev1.EventTypeWarning, linode.ConditionReplicaFailure, "Provision", "%s", text)
			s.update(pool.Name, func(kept *backoff) { kept.said = b.failures })
		}
	}
	if equality.Semantic.DeepEqual(stored.Status, pool.Status) {
		return nil
	}
	// Conditions are a list, which a merge patch replaces as a whole.
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := s.client.Status().Patch(ctx, pool, patch); err != nil {
		return fmt.Errorf("write the status of NodePool %s: %w", pool.Name, err)
	}
	return nil
}

// mostSaid is the maximum length of a reason in an event.
const mostSaid = 700

// backoff limits the NodeClaims that are created after failures of a NodePool.
type backoff struct {
	failures int       // since a NodeClaim got a machine
	most     int       // NodeClaims that can wait for a machine at a time; 0: mostWaiting
	failed   time.Time // when the last failure was seen
	again    time.Time // when the NodePool is retried, unless something changes
	until    time.Time // before which no NodeClaim is created
	said     int       // failures for which events were written
	served   int       // NodeClaims that have a machine and stay
	drifted  bool      // some of them have to be replaced

	why      string               // the last failure
	refusals map[types.UID]string // the last errors of the provider, by NodeClaim
}

const (
	shortestDelay = 15 * time.Second
	longestDelay  = 5 * time.Minute

	// mostWaiting is how many NodeClaims of a NodePool wait for a machine at a time: Karpenter creates
	// all missing ones immediately, each in a goroutine. LKE allows no more nodes in a pool.
	mostWaiting = 500
)

// fail counts a NodeClaim that was deleted without a machine. NodeClaims created before the last failure
// do not make the NodePool wait longer: a batch fails as one.
func (b *backoff) fail(nc *karpv1.NodeClaim, now time.Time) {
	refusal := b.refusals[nc.UID]
	delete(b.refusals, nc.UID)
	b.most = 1
	if !nc.CreationTimestamp.After(b.failed) {
		return
	}
	b.why = cmp.Or(refusal, fmt.Sprintf("NodeClaim %s was deleted before it had a machine", nc.Name))
	b.failures, b.failed = b.failures+1, now
	b.again = now.Add(min(shortestDelay<<min(b.failures-1, 8), longestDelay))
	b.until = b.again
}

// succeed counts a NodeClaim that has got a machine. If it was created since the last failure, twice as
// many as before can be created.
func (b *backoff) succeed(nc *karpv1.NodeClaim) {
	delete(b.refusals, nc.UID)
	if b.most > 0 && nc.CreationTimestamp.After(b.failed) {
		b.failures, b.said, b.most, b.until = 0, 0, min(b.most*2, mostWaiting), time.Time{}
	}
}

// allows returns how many NodeClaims can be created now if some wait for a machine.
func (b *backoff) allows(waiting int, now time.Time) int {
	if now.Before(b.until) {
		return 0
	}
	return max(0, cmp.Or(b.most, mostWaiting)-waiting)
}

// tellingProvider reports the NodeClaims that it refuses.
type tellingProvider struct {
	*linode.Provider
	refused func(*karpv1.NodeClaim, error)
}

// Create implements cloudprovider.CloudProvider.
func (p tellingProvider) Create(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	made, err := p.Provider.Create(ctx, nc)
	if err != nil {
		p.refused(nc, err)
	}
	return made, err
}
