package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// prices are the monthly prices of plan types. The result is false if the price is unknown.
type prices func(planType string) (catalog.Money, bool)

// foretell adds the forecast of a plan to the status, before the plan is applied, unless the status
// already has it. What cannot be read is unknown: that does not keep a revision from being applied.
func (w *Worker) foretell(ctx context.Context, rev *revision, p plan.Plan) {
	r, err := forecastOf(rev.Revision, rev.Origin, rev.head)
	if err != nil || rev.deleting {
		return
	}
	w.Forecasts.setPrices(rev.np, compare.Prices(rev.head.Cluster, cmp.Or(rev.head.Catalog, w.Prices)))
	before := ""
	if !rev.base.first && rev.base.lastAppliedError == "" {
		if last, err := forecastOf("", "", rev.base.Result); err == nil {
			before = last.Objects
		}
	}
	if !forecast.Changes(rev.np, r, before) {
		return
	}
	pools, removed := w.poolsNow(ctx, rev, rev.head)
	w.Forecasts.update(rev.np)
	forecast.Open(rev.np, forecast.Foretell(r, p, pools, w.Now()), removed)
}

// foretellRollback closes the forecast of a revision whose first wave has failed, and opens one for
// the previous revision.
func (w *Worker) foretellRollback(ctx context.Context, rev *revision) {
	np := rev.np
	r, err := forecastOf(np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision, rev.base.Result)
	if err != nil {
		return
	}
	pools, removed := w.poolsNow(ctx, rev, rev.base.Result)
	w.Forecasts.update(np)
	forecast.RollBack(np, r, pools, removed, w.Now())
}

func forecastOf(revision, origin string, of compile.Result) (forecast.Revision, error) {
	digest, err := rollout.Digest(of.Objects)
	return forecast.Revision{Name: revision, Commit: origin, Objects: digest}, err
}

// poolsNow returns the pools of a NodePlan as they are, with the range of their costs in a
// configuration, and the removed nodes that node classes list.
func (w *Worker) poolsNow(
	ctx context.Context, rev *revision, of compile.Result,
) (pools forecast.Pools, removed [][]linodev1alpha1.GoneNode) {
	from := cmp.Or(of.Catalog, w.Prices)
	if costs, err := compare.Costs(of, from); err == nil {
		pools.Costs = costs
	}
	if nodes, err := newView(rev.cluster, w.Cache, of).Nodes(ctx); err == nil {
		pools.Sample = forecast.SampleOf(rev.np.Status.Pools, nodes, compare.Prices(of.Cluster, from))
	}
	removed, _ = removedNodes(ctx, w.Cache) // none are known
	return pools, removed
}

// removedNodes are the lists of removed nodes in the status of node classes.
func removedNodes(ctx context.Context, cache client.Reader) (removed [][]linodev1alpha1.GoneNode, err error) {
	var classes linodev1alpha1.LinodeNodeClassList
	if err := cache.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the node classes: %w", err)
	}
	for _, class := range classes.Items {
		removed = append(removed, class.Status.Gone)
	}
	return removed, nil
}

// forecaster measures what happens after revisions were applied, and writes that into the status of
// NodePlans. It reads the cache when a pool or a NodeClaim changes, and every quarter of an hour. It
// writes at most every half minute while counts change, and every quarter of an hour otherwise. A
// nil pointer measures nothing.
type forecaster struct {
	client.Client               // of NodePlans, nodes, NodeClaims and node classes, with a cache
	Reader        client.Reader // of NodePlans, without a cache
	InShard       func(*lkeplanv1alpha1.NodePlan) bool
	Metrics       *forecastMetrics
	Now           func() time.Time // monotonic

	mu       sync.Mutex
	measured map[client.ObjectKey]measurement
}

// measurement is what a process knows of a NodePlan.
type measurement struct {
	uid    types.UID
	watch  *forecast.Watch // nil: no entry is open
	prices prices          // of the last applied revision; nil until this process has read it
}

// Watch adds the forecaster to a manager.
func (f *forecaster) Watch(mgr manager.Manager, claims nodeCounter) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodeplan-forecast").
		For(&lkeplanv1alpha1.NodePlan{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: opens})).
		Watches(&karpv1.NodeClaim{}, claims.later()).
		Watches(&linodev1alpha1.LinodeNodeClass{}, handler.Funcs{UpdateFunc: removes}).
		Complete(f)
}

// opens reports whether an update concerns what is measured.
func opens(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*lkeplanv1alpha1.NodePlan)
	after, is := e.ObjectNew.(*lkeplanv1alpha1.NodePlan)
	if !was || !is {
		return false
	}
	a, b := forecast.Current(before), forecast.Current(after)
	return before.Generation != after.Generation || (a == nil) != (b == nil) || a != nil && !forecast.Same(*a, *b) ||
		!equality.Semantic.DeepEqual(before.Status.Pools, after.Status.Pools)
}

// removes adds the NodePlans whose nodes were added to the removed nodes of a node class.
func removes(
	_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	before, was := e.ObjectOld.(*linodev1alpha1.LinodeNodeClass)
	after, is := e.ObjectNew.(*linodev1alpha1.LinodeNodeClass)
	if !was || !is || equality.Semantic.DeepEqual(before.Status.Gone, after.Status.Gone) {
		return
	}
	for _, g := range after.Status.Gone {
		if namespace, name, ok := strings.Cut(g.NodePlan, "/"); ok {
			queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}, debounce)
		}
	}
}

// Reconcile implements reconcile.Reconciler.
func (f *forecaster) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	np := &lkeplanv1alpha1.NodePlan{}
	if err := f.Get(ctx, req.NamespacedName, np); err != nil {
		if client.IgnoreNotFound(err) == nil {
			f.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !f.InShard(np) || !np.DeletionTimestamp.IsZero() || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		f.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	nodes, err := newView(nil, f.Client, compile.Result{}).Nodes(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	removed, err := removedNodes(ctx, f.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	watch, err := f.watchOf(ctx, np)
	if watch == nil || err != nil {
		return ctrl.Result{}, err
	}
	f.mu.Lock()
	sample := forecast.SampleOf(np.Status.Pools, nodes, f.measured[req.NamespacedName].prices)
	now := f.Now()
	watch.Look(sample, removed, now)
	f.Metrics.Record(req.NamespacedName, watch.Entry(), sample)
	due := watch.Due(now)
	f.mu.Unlock()
	if due > 0 {
		return ctrl.Result{RequeueAfter: max(due, minInterval)}, nil
	}
	return f.write(ctx, np, watch)
}

// watchOf returns what this process has measured of the open entry of a NodePlan; nil if none is
// open.
func (f *forecaster) watchOf(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (*forecast.Watch, error) {
	key := client.ObjectKeyFromObject(np)
	f.mu.Lock()
	m := f.measured[key]
	f.mu.Unlock()
	open := forecast.Current(np)
	if m.uid == np.UID && m.watch != nil && open != nil && m.watch.Of(*open) {
		return m.watch, nil
	}
	live := &lkeplanv1alpha1.NodePlan{} // the cache may lack the last status
	if err := f.Reader.Get(ctx, key, live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return f.adopt(live), nil
}

// adopt starts to measure the open entry of a NodePlan as it is stored, unless this process already
// does. It returns nil if no entry is open.
func (f *forecaster) adopt(live *lkeplanv1alpha1.NodePlan) *forecast.Watch {
	key, open := client.ObjectKeyFromObject(live), forecast.Current(live)
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.of(live)
	switch {
	case open == nil:
		m.watch = nil
		f.Metrics.Forget(key)
	case m.watch == nil || !m.watch.Follows(*open):
		m.watch = forecast.NewWatch(forecast.Owner{Namespace: key.Namespace, Name: key.Name}, *open)
	}
	f.measured[key] = m
	return m.watch
}

// of is what is known of a NodePlan, but not of another one that had its name. The caller holds the
// lock.
func (f *forecaster) of(np *lkeplanv1alpha1.NodePlan) measurement {
	if f.measured == nil {
		f.measured = map[client.ObjectKey]measurement{}
	}
	m := f.measured[client.ObjectKeyFromObject(np)]
	if m.uid != np.UID {
		m = measurement{uid: np.UID}
	}
	return m
}

// write writes what was measured, unless another process has written since. Then that is kept, and
// what this process has measured since its last write is unknown.
func (f *forecaster) write(ctx context.Context, np *lkeplanv1alpha1.NodePlan, watch *forecast.Watch,
) (ctrl.Result, error) {
	again := ctrl.Result{RequeueAfter: debounce}
	live := &lkeplanv1alpha1.NodePlan{}
	if err := f.Reader.Get(ctx, client.ObjectKeyFromObject(np), live); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	open := forecast.Current(live)
	f.mu.Lock()
	ours := live.UID == np.UID && open != nil && watch.Follows(*open)
	entry := watch.Entry()
	f.mu.Unlock()
	if !ours {
		f.adopt(live)
		return again, nil
	}
	next := live.DeepCopy()
	next.Status.Forecasts[0] = entry
	err := f.Status().Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner("lkeplan-controller"))
	switch {
	case apierrors.IsConflict(err):
		return again, nil
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	watch.Written(f.Now())
	return ctrl.Result{RequeueAfter: forecast.WriteEvery}, nil
}

// update sets the open entry of a NodePlan to what this process has measured, if no other process
// has written since.
func (f *forecaster) update(np *lkeplanv1alpha1.NodePlan) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m, open := f.of(np), forecast.Current(np)
	if m.watch != nil && open != nil && m.watch.Follows(*open) {
		*open = m.watch.Entry()
	}
}

// setPrices sets the prices of the last applied revision.
func (f *forecaster) setPrices(np *lkeplanv1alpha1.NodePlan, p prices) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.of(np)
	m.prices = p
	f.measured[client.ObjectKeyFromObject(np)] = m
}

// forget drops what is known of a NodePlan.
func (f *forecaster) forget(key client.ObjectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.measured, key)
	f.Metrics.Forget(key)
}

// keepMeasured returns the forecasts that a reconciliation writes, with what was measured since it
// has read the NodePlan.
func keepMeasured(np, live *lkeplanv1alpha1.NodePlan) []lkeplanv1alpha1.RevisionForecast {
	return forecast.Measured(slices.Clone(np.Status.Forecasts), live.Status.Forecasts)
}

// pricesOfLast reads the prices of the last applied revision, with which the pools are measured until
// another one is applied.
func (w *Worker) pricesOfLast(rev *revision) {
	if last := rev.base.Result; !rev.base.first && rev.base.lastAppliedError == "" {
		w.Forecasts.setPrices(rev.np, compare.Prices(last.Cluster, cmp.Or(last.Catalog, w.Prices)))
	}
}
