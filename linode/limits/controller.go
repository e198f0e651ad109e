package limits

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Controller reports on each CapacityLimit what is used and what is left, on each NodePool whether it has reached
// its own limits, and on pods which limit blocks their nodes. The Enforcer decides what the limits allow.
type Controller struct {
	client   client.Client
	enforcer *Enforcer
	events   events.EventRecorder
	placed   func(*corev1.Pod) bool
	notified map[types.UID]time.Time // pods with an event about the limit, with its time
	known    map[string]bool         // limits in the metrics

	// announced are the limits and NodePools without room on which this process has written an event. The stored
	// condition is not enough, because the process that wrote it may have ended before it sent the event.
	announced map[types.UID]bool
}

// NewController returns the controller. placed reports whether a pod without a node will get one that exists or is
// on order: then no limit blocks it, even if its own future node has used the last capacity.
func NewController(
	c client.Client, enforcer *Enforcer, recorder events.EventRecorder, placed func(*corev1.Pod) bool,
) *Controller {
	limitMetrics()
	return &Controller{
		client: c, enforcer: enforcer, events: recorder, placed: placed, announced: map[types.UID]bool{},
	}
}

// Register implements operatorpkg's Controller. Any change reconciles all limits
// together.
func (c *Controller) Register(_ context.Context, mgr ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("capacitylimit").
		Watches(&lkeplanv1alpha1.CapacityLimit{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&karpv1.NodePool{}, all, builder.WithPredicates(poolChanges)).
		Watches(&karpv1.NodeClaim{}, all, builder.WithPredicates(predicate.Funcs{UpdateFunc: countsOtherwise})).
		Complete(c)
}

// countsOtherwise reports whether a change of a NodeClaim may change the amounts that it counts for.
func countsOtherwise(ev event.UpdateEvent) bool {
	was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
	is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
	return okWas && okIs && (was.Status.ProviderID != is.Status.ProviderID ||
		nodeclaim.PlanOf(was) != nodeclaim.PlanOf(is) ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
		len(was.Status.Conditions) != len(is.Status.Conditions))
}

// Reconcile updates the status of all limits.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var list lkeplanv1alpha1.CapacityLimitList
	if err := c.client.List(ctx, &list); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the CapacityLimits: %w", err)
	}
	var pools karpv1.NodePoolList
	if err := c.client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the NodePools: %w", err)
	}
	if len(list.Items)+len(c.known) == 0 && c.enforcer.unlimited() && !slices.ContainsFunc(pools.Items, limitedOrReached) {
		return ctrl.Result{}, nil // no need to count all NodeClaims at each change of one
	}
	tally, err := c.enforcer.Show(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	c.forgetOthers(list.Items, pools.Items)
	binds, err := c.ownLimits(ctx, tally, pools.Items)
	if err != nil {
		return nodeclaim.AfterWrite(err)
	}
	for i := range list.Items {
		refuses, err := c.report(ctx, &list.Items[i], tally.Only(list.Items[i].Name), pools.Items)
		if err != nil {
			return nodeclaim.AfterWrite(err)
		}
		binds = binds || refuses
	}
	if !binds {
		return ctrl.Result{}, nil
	}
	// New pods do not cause an event of a limit or a claim, so the pods are listed again.
	return ctrl.Result{RequeueAfter: podsEvery}, c.notifyPods(ctx, tally, pools.Items)
}

// forgetOthers removes deleted limits from the metrics, and forgets deleted objects.
func (c *Controller) forgetOthers(live []lkeplanv1alpha1.CapacityLimit, pools []karpv1.NodePool) {
	known, there := make(map[string]bool, len(live)), map[types.UID]bool{}
	for i := range live {
		known[live[i].Name], there[live[i].UID] = true, true
	}
	for i := range pools {
		there[pools[i].UID] = true
	}
	maps.DeleteFunc(c.announced, func(uid types.UID, _ bool) bool { return !there[uid] })
	for name := range c.known {
		if !known[name] {
			limitMetrics().forget(name)
		}
	}
	c.known = known
}

// announces reports whether an event about an object is due: it has no room, and this process has not written an
// event since it last had room.
func (c *Controller) announces(uid types.UID, full bool) bool {
	due := full && !c.announced[uid]
	c.announced[uid] = full
	return due
}

// report writes one limit's status, and reports whether the limit refuses any plan
// type that one of its pools could use.
func (c *Controller) report(
	ctx context.Context, cl *lkeplanv1alpha1.CapacityLimit, tally Tally, pools []karpv1.NodePool,
) (refuses bool, err error) {
	stored, limit := cl.DeepCopy(), sharedLimit(cl)
	used, refused := tally.Used(), c.refused(cl, tally, pools)
	cl.Status.ObservedGeneration = cl.Generation
	cl.Status.Used = amountsOf(used, nil)
	cl.Status.Room = amountsOf(Room(limit.Max, used), limit.Max)
	meta.SetStatusCondition(&cl.Status.Conditions, enforcedCondition(cl, pools))
	meta.SetStatusCondition(&cl.Status.Conditions, refused.reached(cl.Generation))
	limitMetrics().set(cl.Name, limit.Max, used, refused.all())
	if c.announces(cl.UID, refused.all()) {
		c.notifyPools(cl, refused, pools)
	}
	if err := nodeclaim.PatchStatus(ctx, c.client, stored, cl); client.IgnoreNotFound(err) != nil {
		return refused.any, fmt.Errorf("write the status of CapacityLimit %s: %w", cl.Name, err)
	}
	return refused.any, nil
}

func enforcedCondition(cl *lkeplanv1alpha1.CapacityLimit, pools []karpv1.NodePool) metav1.Condition {
	var missing []string
	for _, name := range cl.Spec.NodePools {
		if !slices.ContainsFunc(pools, func(p karpv1.NodePool) bool { return p.Name == name }) {
			missing = append(missing, name)
		}
	}
	ready := metav1.Condition{
		Type: lkeplanv1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: "Enforced", ObservedGeneration: cl.Generation,
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		ready.Status, ready.Reason = metav1.ConditionFalse, "NodePoolNotFound"
		ready.Message = fmt.Sprintf(
			"NodePool %s does not exist; create it or remove it from spec.nodePools; the other pools are limited",
			strings.Join(missing, ", "))
	}
	return ready
}

// refused is what one limit refuses to its pools.
type refused struct {
	pools int               // number of pools that could have nodes without any limit
	full  map[string]string // pools that can have no further node, with the reason
	any   bool              // some plan type is refused to some pool
}

// all reports whether the limit has no room for any node that its pools could
// have.
func (r refused) all() bool { return r.pools > 0 && len(r.full) == r.pools }

func (r refused) reached(generation int64) metav1.Condition {
	cond := metav1.Condition{
		Type: lkeplanv1alpha1.ConditionReached, Status: metav1.ConditionFalse,
		Reason: "Room", ObservedGeneration: generation,
	}
	if r.all() {
		cond.Status, cond.Reason = metav1.ConditionTrue, "NoRoom"
		cond.Message = r.full[slices.Min(slices.Collect(maps.Keys(r.full)))]
	}
	return cond
}

// refused asks the tally for each pool of a limit about each plan type that the
// pool could use.
func (c *Controller) refused(
	cl *lkeplanv1alpha1.CapacityLimit, tally Tally, pools []karpv1.NodePool,
) refused {
	r := refused{full: map[string]string{}}
	for i := range pools {
		pool := pools[i].Name
		if len(cl.Spec.NodePools) > 0 && !slices.Contains(cl.Spec.NodePools, pool) {
			continue
		}
		plans := instancetype.Candidates(c.enforcer.types.List(), instancetype.RequirementsOf(&pools[i]), nil)
		var why string
		count := 0
		for _, it := range plans {
			refusal, no := tally.Refuses(c.enforcer.wish(pool, it))
			if !no {
				continue
			}
			count++
			if why == "" { // the reason of the cheapest one
				why = describeRefusal(refusal, it.Name) + "; pods wait until there is capacity or the limit is raised"
			}
		}
		r.any = r.any || count > 0
		if len(plans) > 0 {
			r.pools++
		}
		if count > 0 && count == len(plans) {
			r.full[pool] = why
		}
	}
	return r
}

// amountsOf writes amounts for a status: all of them, or those that only has.
func amountsOf(a, only Amounts) lkeplanv1alpha1.CapacityAmounts {
	capped := func(name string) bool {
		_, ok := only[name]
		return only == nil || ok
	}
	var out lkeplanv1alpha1.CapacityAmounts
	if n := a[Nodes]; capped(Nodes) {
		out.Nodes = &n
	}
	if capped(CPU) {
		out.CPU = resource.NewMilliQuantity(a[CPU], resource.DecimalSI)
	}
	if capped(Memory) {
		out.Memory = resource.NewQuantity(a[Memory], resource.BinarySI)
	}
	if money := catalog.Money(a[MonthlyCost]).String(); capped(MonthlyCost) {
		out.MonthlyCost = &money
	}
	return out
}

// ReasonReached is the reason of events on pods and NodePools whose nodes a limit blocks.
const ReasonReached = "CapacityLimitReached"

// How often pending pods are listed while a limit refuses nodes, and how often an
// event is repeated on a pod.
const (
	podsEvery   = 10 * time.Second
	notifyEvery = 2 * time.Minute
)

// notifyPods writes an event on each pod that is pending only because of a limit. Karpenter cannot report a
// CapacityLimit, because it only sees that the plan type is not offered. For a NodePool's own limit it reports
// neither which one, nor the value with which the pod would fit.
func (c *Controller) notifyPods(ctx context.Context, tally Tally, pools []karpv1.NodePool) error {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	now, notified := time.Now(), map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !podutils.IsProvisionable(pod) || c.placed(pod) {
			continue
		}
		if at, ok := c.notified[pod.UID]; ok && now.Sub(at) < notifyEvery {
			notified[pod.UID] = at
		} else if why, refused := c.refusedFor(pod, tally, pools); refused {
			c.events.Eventf(pod, nil, corev1.EventTypeWarning, ReasonReached, "Provision", "%s", why)
			notified[pod.UID] = now
		}
	}
	c.notified = notified
	return nil
}

// refusedFor reports whether limits are the only reason why a pod gets no node, and why the cheapest node is
// refused.
func (c *Controller) refusedFor(
	pod *corev1.Pod, tally Tally, pools []karpv1.NodePool,
) (why string, refused bool) {
	requests := resources.RequestsForPods(pod)
	for i := range pools {
		pool := &pools[i]
		want, ok := instancetype.ForPod(pool, pod)
		if !ok || len(pool.Spec.Limits) > 0 && !hasLimits(*pool) {
			continue
		}
		fit := instancetype.Candidates(c.enforcer.types.List(), want, requests)
		text, refused := c.enforcer.Refused(tally, pool.Name, fit)
		switch {
		case len(fit) == 0:
		case !refused:
			return "", false
		case why == "":
			why = text
		}
	}
	return why, why != ""
}

// Refused reports whether a tally has room for no node of the types in a NodePool. If so, it returns why the first
// type is refused, and which value of the limit would allow one more node.
func (e *Enforcer) Refused(
	tally Tally, pool string, fit []*cloudprovider.InstanceType,
) (why string, refused bool) {
	return e.RefusedBeside(tally, Planned{}, pool, fit)
}

// Planned describes the part of a tally that is only planned.
type Planned struct {
	Standing *Tally                                     // what existed before; nil if all of it exists
	For      func(covers func(pool string) bool) string // the pods for which the nodes of pools are planned
}

// RefusedBeside is Refused for a tally that is partly only planned.
func (e *Enforcer) RefusedBeside(
	tally Tally, planned Planned, pool string, fit []*cloudprovider.InstanceType,
) (why string, refused bool) {
	for _, it := range fit {
		refusal, refused := tally.Refuses(e.wish(pool, it))
		if !refused {
			return "", false
		}
		if why == "" {
			why = planned.describe(refusal, it.Name) + "; " + neededAmounts(slices.Collect(tally.Refusals(e.wish(pool, it))))
		}
	}
	return why, why != ""
}

// describe says which limit refuses a plan type: what is used, what is planned, and for which pods.
func (p Planned) describe(r Refusal, plan string) string {
	if p.Standing == nil {
		return describeRefusal(r, plan)
	}
	used := p.Standing.one(r.Limit.Name, r.Limit.Own).Used()[r.Resource]
	if used >= r.Used {
		return describeRefusal(r, plan)
	}
	most := r.Limit.Max[r.Resource]
	text := fmt.Sprintf("%s %s has no capacity for a node of %s: it allows %s (in use %s; planned for %s: %s; left %s)",
		kindOf(r.Limit), r.Limit.Name, plan, inUnits(r.Resource, most), inUnits(r.Resource, used), p.For(r.Limit.Covers),
		inUnits(r.Resource, r.Used-used), inUnits(r.Resource, most-min(most, r.Used)))
	if r.Resource == Nodes {
		return text
	}
	return text + fmt.Sprintf("; the node needs %s", inUnits(r.Resource, r.Wanted))
}

// neededAmounts says which values of the limits would allow one more node.
func neededAmounts(refusals []Refusal) string {
	var texts, others []string
	for _, r := range refusals {
		wanted := r.Used + r.Wanted
		if r.Resource == Memory && wanted < math.MaxInt64/16 {
			wanted = (wanted*10 + 1<<30 - 1) >> 30 << 30 / 10 // in tenths of 1Gi, and not rounded down
		}
		text := inUnits(r.Resource, wanted)
		if first := refusals[0].Limit; r.Limit.Name != first.Name || r.Limit.Own != first.Own {
			others = append(others, "the limit of "+kindOf(r.Limit)+" "+r.Limit.Name+" to "+text)
			continue
		}
		texts = append(texts, text)
	}
	limits := "limit"
	if len(texts) > 1 {
		limits = "limits"
	}
	all := append([]string{"the " + limits + " to " + strings.Join(texts, " and ")}, others...)
	return "to create one more such node, raise " + strings.Join(all, ", and ")
}
