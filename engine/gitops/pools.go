package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// removalStatuses returns the pools that drain when a plan is applied: those that are draining already, and those
// that start to drain.
func removalStatuses(p plan.Plan) (pools []lkeplanv1alpha1.PoolStatus) {
	for _, r := range p.Rolling {
		if r.Condemned != nil {
			pools = append(pools, rollingStatus(r, p.Now))
		}
	}
	for _, c := range p.Changes {
		if c.Prune == plan.StartRemoval && c.Impact != nil {
			removal := plan.Removal{Since: p.Now, Nodes: c.Impact.Of}
			if c.Impact.Pace != nil {
				removal.Soonest = c.Impact.Pace.Soonest(c.Impact.Of)
			}
			pools = append(pools, rollingStatus(plan.Rolling{
				Addr: c.Addr, Pool: c.Name, Of: c.Impact.Of, Outdated: c.Impact.Of, Pace: c.Impact.Pace, Holds: c.Impact.Holds,
				Condemned: &removal,
			}, p.Now))
		}
	}
	return pools
}

func rollingStatus(r plan.Rolling, now time.Time) lkeplanv1alpha1.PoolStatus {
	state, holds := r.Progress(diag.OneLine)
	s := lkeplanv1alpha1.PoolStatus{Name: r.Pool, Nodes: r.Of, Outdated: r.Of}
	c := &lkeplanv1alpha1.CondemnedStatus{
		Since: metav1.NewTime(r.Condemned.Since.UTC().Truncate(time.Second)), Nodes: max(r.Condemned.Nodes, r.Of),
		Message: strings.Join(append([]string{state}, holds...), "; "), SoonestEnd: statusTime(r.Condemned.Soonest),
	}
	if c.Since.IsZero() { // the annotation of the pool was edited and has no valid time
		c.Since = metav1.NewTime(now.UTC().Truncate(time.Second))
	}
	if r.Pace != nil {
		s.NextWindow = statusTime(r.Pace.Next)
	}
	s.Condemned = c
	return s
}

func statusTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// progressLines describes the progress of draining pools, one line each.
func progressLines(pools []lkeplanv1alpha1.PoolStatus) (lines []string) {
	for _, p := range pools {
		if p.Condemned != nil {
			lines = append(lines, fmt.Sprintf("NodePool %s is %s.", p.Name, p.Condemned.Message))
		}
	}
	return lines
}

// furtherAlong reports whether the progress of draining pools is worth an event: a pool has
// started or finished, or another quarter of its nodes has gone.
func furtherAlong(before, after []lkeplanv1alpha1.PoolStatus) bool {
	was, is := remainingQuarters(before), remainingQuarters(after)
	if len(was) != len(is) {
		return true
	}
	for name, n := range is {
		if m, known := was[name]; !known || m != n {
			return true
		}
	}
	return false
}

// remainingQuarters returns how many quarters of the nodes of draining pools are left, by name.
func remainingQuarters(pools []lkeplanv1alpha1.PoolStatus) map[string]int {
	left := map[string]int{}
	for _, p := range pools {
		if p.Condemned != nil {
			left[p.Name] = (4*p.Nodes + p.Condemned.Nodes - 1) / max(p.Condemned.Nodes, 1)
		}
	}
	return left
}

// correctionsText lists the manual edits that were reverted, with a line for each.
func correctionsText(p plan.Plan, ours map[manifest.Key]bool) string {
	var lines []string
	for _, d := range p.Drift {
		if !d.Kept && ours[d.Key()] {
			did := fmt.Sprintf("set to %v", d.Live)
			if d.Live == nil {
				did = "removed"
			}
			lines = append(lines, fmt.Sprintf("%s: %s was %s by %s, and is reverted",
				d.Key(), d.Path, did, strings.Join(d.Owners, ", ")))
		}
	}
	return strings.Join(lines, "\n")
}

// nodeCounter keeps the number of outdated nodes in the status of NodePlans up to date, even while they are
// stalled. It counts when a pool or one of its NodeClaims changes, and reads only the cache: it fetches and
// compiles nothing.
type nodeCounter struct {
	client.Client
	Index   string // of NodePlans in the cache, by the inventory label of their objects
	InShard func(*lkeplanv1alpha1.NodePlan) bool
	Now     func() time.Time
}

// debounce is how long changes of NodeClaims are collected, because a burst can be a thousand nodes.
const debounce = 5 * time.Second

// Watch adds the reconciler to a manager.
func (p nodeCounter) Watch(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodeplan-count").
		Watches(&karpv1.NodeClaim{}, p.later()).
		Watches(&karpv1.NodePool{}, p.later(), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{},
			predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))). // Karpenter writes the status often
		Complete(p)
}

// later returns an event handler for pools and NodeClaims that counts the nodes of their NodePlan
// after the debounce time.
func (p nodeCounter) later() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, obj client.Object, q queue) {
		var pool karpv1.NodePool
		name := obj.GetName()
		if claim, ok := obj.(*karpv1.NodeClaim); ok {
			name = claim.Labels[karpv1.NodePoolLabelKey]
		}
		var list lkeplanv1alpha1.NodePlanList
		if p.Get(ctx, client.ObjectKey{Name: name}, &pool) != nil ||
			p.List(ctx, &list, client.MatchingFields{p.Index: pool.Labels[kube.InventoryLabel]}) != nil {
			return // it is gone, or the cache is not synced; reconciliations count nodes as well
		}
		for _, np := range list.Items {
			if p.InShard(&np) {
				q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&np)}, debounce)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
	}
}

// Reconcile implements reconcile.Reconciler.
func (p nodeCounter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	np := &lkeplanv1alpha1.NodePlan{}
	if err := p.Get(ctx, req.NamespacedName, np); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(np.Status.Pools) == 0 || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly { // no pools are applied yet
		return ctrl.Result{}, nil
	}
	pools, err := p.pools(ctx, np)
	for _, pool := range np.Status.Pools {
		if pool.Condemned != nil { // reconciliations update its progress
			pools = append(pools, pool)
		}
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if !equality.Semantic.DeepEqual(pools, np.Status.Pools) {
		before := np.DeepCopy()
		np.Status.Pools = pools
		np.Status.Outdated, _ = totalOf(pools)
		err := p.Status().Patch(ctx, np, client.MergeFrom(before), client.FieldOwner("lkeplan-controller"))
		if err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	return ctrl.Result{}, nil
}

// pools counts the nodes of the pools that a NodePlan manages.
func (p nodeCounter) pools(ctx context.Context, np *lkeplanv1alpha1.NodePlan) ([]lkeplanv1alpha1.PoolStatus, error) {
	var pools karpv1.NodePoolList
	if err := p.List(ctx, &pools, client.MatchingLabels{kube.InventoryLabel: nodeplan.InventoryLabel(np)}); err != nil {
		return nil, fmt.Errorf("list the pools of NodePlan %s: %w", client.ObjectKeyFromObject(np), err)
	}
	state := plan.State{Now: p.Now()}
	known, classes := map[string]bool{}, map[string]bool{} // without draining pools, and those not applied yet
	for _, pool := range np.Status.Pools {
		known[pool.Name] = pool.Condemned == nil
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		if !known[pool.Name] {
			continue
		}
		state.Pools = append(state.Pools, pool)
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
			classes[ref.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := &linodev1alpha1.LinodeNodeClass{}
		switch err := p.Get(ctx, client.ObjectKey{Name: name}, class); {
		case err == nil:
			state.Classes = append(state.Classes, class)
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("get node class %s: %w", name, err)
		}
	}
	var err error
	if state.Nodes, err = cachedNodes(p.Client).Nodes(ctx); err != nil {
		return nil, err
	}
	rolling, err := plan.Rolls(state)
	return poolStatuses(rolling, nil), err
}

// poolStatuses returns the pools for a status. The time of the next replacement comes from windows, by pool, or
// else from the pace.
func poolStatuses(rolling []plan.Rolling, windows map[string]*metav1.Time) []lkeplanv1alpha1.PoolStatus {
	pools := make([]lkeplanv1alpha1.PoolStatus, 0, len(rolling))
	for _, r := range rolling {
		status := lkeplanv1alpha1.PoolStatus{Name: r.Pool, Nodes: r.Of, Outdated: r.Outdated}
		if r.Outdated > 0 {
			status.NextWindow = windows[r.Pool]
			if status.NextWindow == nil && r.Pace != nil && !r.Pace.Next.IsZero() {
				status.NextWindow = &metav1.Time{Time: r.Pace.Next}
			}
		}
		pools = append(pools, status)
	}
	return pools
}

// totalOf sums up pools: how many nodes are still to be replaced, and when the next one can be.
func totalOf(pools []lkeplanv1alpha1.PoolStatus) (nodes *int, window *metav1.Time) {
	if pools == nil {
		return nil, nil
	}
	nodes = new(int)
	for _, p := range pools {
		*nodes += p.Outdated
		if p.NextWindow != nil && (window == nil || p.NextWindow.Before(window)) {
			window = p.NextWindow
		}
	}
	return nodes, window
}

// waitForWindow returns the outcome of a plan that waits for a change window, or for the end of a freeze or a
// DisruptionStop.
func waitForWindow(rev revision, p plan.Plan, until time.Time) outcome {
	var why []string
	for _, v := range p.Verdicts {
		switch {
		case v.Status != plan.Waiting:
		case v.Guard == plan.Frozen:
			why = append(why, fmt.Sprintf("Freeze %s: %s", v.Addr, v.Detail))
		default:
			why = append(why, v.Detail)
		}
	}
	const format = "revision %s waits: %s\nPlan: %s"
	if until.IsZero() {
		return stalled(lkeplanv1alpha1.ReasonOutsideWindow, format, rev.Revision, strings.Join(why, " "), summaryLine(p)).changed(true)
	}
	why = append(why, fmt.Sprintf("lkeplan applies it at %s.", text.DayTime(until)))
	o := done(lkeplanv1alpha1.ReasonOutsideWindow, format, rev.Revision, strings.Join(why, " "), summaryLine(p))
	o.inProgress, o.waitUntil = true, until
	return o
}

// waitForDrain returns the outcome of an apply after which pools are still draining. It adds these pools to the status;
// before are the pools of the previous status. Without such pools it returns o.
func waitForDrain(np *lkeplanv1alpha1.NodePlan, o outcome, p plan.Plan, before []lkeplanv1alpha1.PoolStatus) outcome {
	condemned := removalStatuses(p)
	if len(condemned) == 0 {
		return o
	}
	np.Status.Pools = append(np.Status.Pools, condemned...)
	text := strings.Join(progressLines(condemned), "\n")
	if furtherAlong(before, condemned) {
		o = o.changed(true)
	}
	o.reason, o.inProgress = lkeplanv1alpha1.ReasonPruning, true
	o.message += "\n" + text
	o.event += "\n" + text
	return o
}
