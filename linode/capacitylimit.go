package linode

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/limits"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// CapacityLimits is the controller of CapacityLimits: it says what is used,
// what is left, and which limit holds pods back. What the limits allow is
// decided by Limits, not here.
type CapacityLimits struct {
	client client.Client
	limits *Limits
	events events.EventRecorder
	told   map[types.UID]time.Time // pods that were told what holds them back, and when
	known  map[string]bool         // limits that the metrics show
}

// NewCapacityLimits returns the controller.
func NewCapacityLimits(c client.Client, l *Limits, recorder events.EventRecorder) *CapacityLimits {
	return &CapacityLimits{client: c, limits: l, events: recorder}
}

// Register implements operatorpkg's Controller. All limits are looked at
// together, whatever has changed.
func (c *CapacityLimits) Register(_ context.Context, mgr ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("capacitylimit").
		Watches(&lkeplanv1alpha1.CapacityLimit{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&karpv1.NodePool{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&karpv1.NodeClaim{}, all, builder.WithPredicates(predicate.Funcs{UpdateFunc: countsOtherwise})).
		Complete(c)
}

// countsOtherwise reports whether a change of a NodeClaim may change what it
// counts for.
func countsOtherwise(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	return okWas && okIs && (was.Status.ProviderID != is.Status.ProviderID || planOf(was) != planOf(is) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || len(was.Status.Conditions) != len(is.Status.Conditions))
}

// Reconcile brings the status of all limits up to date.
func (c *CapacityLimits) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var list lkeplanv1alpha1.CapacityLimitList
	if err := c.client.List(ctx, &list); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the CapacityLimits: %w", err)
	}
	if len(list.Items)+len(c.known) == 0 && c.limits.unlimited() {
		return ctrl.Result{}, nil // nothing to count all NodeClaims for at each change of one
	}
	tally, err := c.limits.Show(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var pools karpv1.NodePoolList
	if err := c.client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the NodePools: %w", err)
	}
	c.forgetOthers(list.Items)
	binds := false
	for i := range list.Items {
		full, err := c.report(ctx, &list.Items[i], tally.Only(list.Items[i].Name), pools.Items)
		if err != nil {
			return written(err)
		}
		binds = binds || full
	}
	if !binds {
		return ctrl.Result{}, nil
	}
	// No event of a limit or a claim tells of pods that come now.
	return ctrl.Result{RequeueAfter: heldEvery}, c.tellPods(ctx, tally.Shared(), pools.Items)
}

// forgetOthers takes limits out of the metrics that are no more.
func (c *CapacityLimits) forgetOthers(there []lkeplanv1alpha1.CapacityLimit) {
	known := make(map[string]bool, len(there))
	for i := range there {
		known[there[i].Name] = true
	}
	for name := range c.known {
		if !known[name] {
			limitMetrics().forget(name)
		}
	}
	c.known = known
}

// report writes one limit's status, and reports whether the limit holds back any
// plan that one of its pools could make.
func (c *CapacityLimits) report(ctx context.Context, cl *lkeplanv1alpha1.CapacityLimit, tally limits.Tally, pools []karpv1.NodePool) (binds bool, err error) {
	stored, limit := cl.DeepCopy(), sharedLimit(cl)
	used, held := tally.Used(), c.held(cl, tally, pools)
	cl.Status.ObservedGeneration = cl.Generation
	cl.Status.Used = amountsOf(used, nil)
	cl.Status.Room = amountsOf(limits.Room(limit.Max, used), limit.Max)
	meta.SetStatusCondition(&cl.Status.Conditions, enforced(cl, pools))
	changed := meta.SetStatusCondition(&cl.Status.Conditions, held.reached(cl.Generation))
	limitMetrics().set(cl.Name, limit.Max, used, held.all())
	if changed && held.all() {
		c.tellPools(cl, held, pools)
	}
	if equality.Semantic.DeepEqual(stored.Status, cl.Status) {
		return held.binds, nil
	}
	// Conditions are a list, which a merge patch replaces whole.
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := c.client.Status().Patch(ctx, cl, patch); client.IgnoreNotFound(err) != nil {
		return held.binds, fmt.Errorf("write the status of CapacityLimit %s: %w", cl.Name, err)
	}
	return held.binds, nil
}

func (c *CapacityLimits) tellPools(cl *lkeplanv1alpha1.CapacityLimit, held held, pools []karpv1.NodePool) {
	for i := range pools {
		if message := held.full[pools[i].Name]; message != "" {
			c.events.Eventf(cl, &pools[i], corev1.EventTypeWarning, lkeplanv1alpha1.ConditionReached, "Limit", "%s", message)
			c.events.Eventf(&pools[i], cl, corev1.EventTypeWarning, "CapacityLimitReached", "Provision", "%s", message)
		}
	}
}

// enforced is the condition Ready.
func enforced(cl *lkeplanv1alpha1.CapacityLimit, pools []karpv1.NodePool) metav1.Condition {
	var missing []string
	for _, name := range cl.Spec.NodePools {
		if !slices.ContainsFunc(pools, func(p karpv1.NodePool) bool { return p.Name == name }) {
			missing = append(missing, name)
		}
	}
	ready := metav1.Condition{Type: lkeplanv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Enforced", ObservedGeneration: cl.Generation}
	if len(missing) > 0 {
		slices.Sort(missing)
		ready.Status, ready.Reason = metav1.ConditionFalse, "NodePoolNotFound"
		ready.Message = fmt.Sprintf("there is no NodePool %s; create it or take it out of spec.nodePools; the other pools are limited", strings.Join(missing, ", "))
	}
	return ready
}

// held is what one limit keeps its pools from making.
type held struct {
	pools int               // that could make nodes if it were not for limits
	full  map[string]string // those of them that can make none, and why
	binds bool              // some plan is held back in some pool
}

// all reports whether the limit has no room for any node that its pools could
// make.
func (h held) all() bool { return h.pools > 0 && len(h.full) == h.pools }

// reached is the condition Reached.
func (h held) reached(generation int64) metav1.Condition {
	cond := metav1.Condition{Type: lkeplanv1alpha1.ConditionReached, Status: metav1.ConditionFalse, Reason: "Room", ObservedGeneration: generation}
	if h.all() {
		cond.Status, cond.Reason = metav1.ConditionTrue, "NoRoom"
		cond.Message = h.full[slices.Min(slices.Collect(maps.Keys(h.full)))]
	}
	return cond
}

// held looks at each pool that a limit is for, and at each plan that the pool
// could make.
func (c *CapacityLimits) held(cl *lkeplanv1alpha1.CapacityLimit, tally limits.Tally, pools []karpv1.NodePool) held {
	h := held{full: map[string]string{}}
	for i := range pools {
		pool := pools[i].Name
		if len(cl.Spec.NodePools) > 0 && !slices.Contains(cl.Spec.NodePools, pool) {
			continue
		}
		plans := candidates(c.limits.types.List(), poolRequirements(&pools[i]), nil)
		var why string
		refused := 0
		for _, it := range plans {
			refusal, no := tally.Refuses(c.limits.wish(pool, it))
			if !no {
				continue
			}
			refused++
			if why == "" { // of the cheapest
				why = describe(refusal, it.Name) + "; pods wait until there is room or the limit is raised"
			}
		}
		h.binds = h.binds || refused > 0
		if len(plans) > 0 {
			h.pools++
		}
		if refused > 0 && refused == len(plans) {
			h.full[pool] = why
		}
	}
	return h
}

// amountsOf writes amounts for people; of those that only names, where it is
// given.
func amountsOf(a, only limits.Amounts) lkeplanv1alpha1.CapacityAmounts {
	capped := func(name string) bool {
		_, ok := only[name]
		return only == nil || ok
	}
	var out lkeplanv1alpha1.CapacityAmounts
	if n := a[limits.Nodes]; capped(limits.Nodes) {
		out.Nodes = &n
	}
	if capped(limits.CPU) {
		out.CPU = resource.NewMilliQuantity(a[limits.CPU], resource.DecimalSI)
	}
	if capped(limits.Memory) {
		out.Memory = resource.NewQuantity(a[limits.Memory], resource.BinarySI)
	}
	if money := catalog.Money(a[limits.MonthlyCost]).String(); capped(limits.MonthlyCost) {
		out.MonthlyCost = &money
	}
	return out
}
