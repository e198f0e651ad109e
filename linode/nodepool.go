package linode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ConditionAccepted on a NodePool reports whether LKE can create nodes for it. If it is false, ValidationSucceeded
// and with it Ready are false as well: Karpenter then ignores the NodePool, and does not count its zones when it
// spreads the pods of others.
const ConditionAccepted = "LKEAccepted"

// ConditionOutOfStock on a NodePool is true while Linode has no machines of some plan types that it allows; the
// message names them. They are not offered until they are tried again; the others are used. Otherwise the condition
// is absent.
const ConditionOutOfStock = "OutOfStock"

// ConditionReplicaFailure on a NodePool with replicas is true while another machine for it is unavailable; the
// message has the reason and the time of the next try. Otherwise the condition is absent.
const ConditionReplicaFailure = "ReplicaFailure"

// ConditionRefreshInvalid on a NodePool is true if the age at which its nodes are replaced cannot be read, so that none
// is. Otherwise the condition is absent.
const ConditionRefreshInvalid = "RefreshAfterInvalid"

// Narrow removes zones and regions other than the cluster's from those that a NodePool allows. Karpenter assumes
// that every zone that some NodePool names exists, and would spread pods of others over it, which then wait forever
// (karpenter v1.15.0, buildDomainGroups in pkg/controllers/provisioning/scheduling/topology.go). A NodePool that
// allows only other zones is unacceptable.
func Narrow(pool *karpv1.NodePool, region string) {
	spec := &pool.Spec.Template.Spec
	for i, r := range spec.Requirements {
		place := r.Key == corev1.LabelTopologyZone || r.Key == corev1.LabelTopologyRegion
		if place && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) > 1 && slices.Contains(r.Values, region) {
			spec.Requirements = slices.Clone(spec.Requirements)
			spec.Requirements[i].Values = []string{region}
		}
	}
}

// NodePools is the controller that validates all NodePools: by the rules of Karpenter, whose own controller of this
// name it replaces, and by those of LKE. Two controllers would overwrite each other's condition
// ValidationSucceeded. It also sets the condition RolledOut.
type NodePools struct {
	client  client.Client
	types   *instancetype.Set
	refused func(context.Context, *karpv1.NodePool) string
	events  events.EventRecorder
}

// NewNodePools returns the controller. refused says why nodes of a NodePool would be refused; on LKE it is the
// function of package lke.
func NewNodePools(c client.Client, types *instancetype.Set, refused func(context.Context, *karpv1.NodePool) string,
	recorder events.EventRecorder) *NodePools {
	return &NodePools{client: c, types: types, refused: refused, events: recorder}
}

// Register implements operatorpkg's Controller. Each change of a NodePool is reconciled, because Karpenter writes
// conditions as well, and may remove one that its cache does not show.
func (n *NodePools) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodepool.validation").For(&karpv1.NodePool{}).
		Watches(&karpv1.NodeClaim{}, nodeclaim.Collect(time.Second, nodepool.NodeClaimEventHandler()),
			builder.WithPredicates(rolloutChanges)).
		WatchesRawSource(onEither(n.types.Blocking(), nil, n.allNodePools)).Complete(n)
}

// allNodePools requests the reconciliation of all NodePools.
func (n *NodePools) allNodePools(ctx context.Context, _ client.Object) (all []reconcile.Request) {
	var pools karpv1.NodePoolList
	if err := n.client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "could not list the NodePools when Linode had no machines of a plan type")
	}
	for i := range pools.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools.Items[i])})
	}
	return all
}

// Reconcile writes the conditions of one NodePool.
func (n *NodePools) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pool karpv1.NodePool
	if err := n.client.Get(ctx, req.NamespacedName, &pool); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Group != linodev1alpha1.Group || !pool.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var claims karpv1.NodeClaimList
	if err := n.client.List(ctx, &claims, client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	stored := pool.DeepCopy()
	n.validate(ctx, &pool)
	setRolledOut(pool.StatusConditions(), &pool, claims.Items)
	if err := nodeclaim.PatchStatus(ctx, n.client, stored, &pool); err != nil {
		return nodeclaim.AfterWrite(err)
	}
	return ctrl.Result{RequeueAfter: n.recheckAfter(&pool)}, nil
}

// recheckAfter returns when to validate a NodePool again without an event, because the price list may get a plan type
// that it needs, and LKE may have machines again.
func (n *NodePools) recheckAfter(pool *karpv1.NodePool) time.Duration {
	switch conditions := pool.StatusConditions(status.WithObservedOnly()); {
	case conditions.Get(ConditionOutOfStock).IsTrue():
		return stockEvery
	case !conditions.IsTrue(ConditionAccepted):
		return time.Minute
	}
	return 0
}

// stockEvery is how often the NodePools are checked for plan types that are offered again.
const stockEvery = 5 * time.Second

// validate sets the conditions in memory.
func (n *NodePools) validate(ctx context.Context, pool *karpv1.NodePool) {
	conditions := pool.StatusConditions()
	invalid, why := pool.RuntimeValidate(ctx), Unacceptable(pool, n.types, n.refused(ctx, pool))
	if why == "" {
		conditions.SetTrue(ConditionAccepted)
	} else if conditions.SetFalse(ConditionAccepted, "Unacceptable", why) {
		n.events.Eventf(pool, nil, corev1.EventTypeWarning, ConditionAccepted, "Validate", "%s", why)
	}
	switch {
	case invalid != nil:
		conditions.SetFalse(karpv1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", invalid.Error())
	case why != "":
		conditions.SetFalse(karpv1.ConditionTypeValidationSucceeded, "LKEUnacceptable", why)
	default:
		conditions.SetTrue(karpv1.ConditionTypeValidationSucceeded)
	}
	if _, err := age.After(pool); err == nil {
		_ = conditions.Clear(ConditionRefreshInvalid) // an error is only possible for parts of Ready
	} else if conditions.SetTrueWithReason(ConditionRefreshInvalid, ConditionRefreshInvalid, err.Error()) {
		n.events.Eventf(pool, nil, corev1.EventTypeWarning, ConditionRefreshInvalid, "Validate", "%s", err)
	}
	if text := n.outOfStock(pool); text != "" {
		conditions.SetTrueWithReason(ConditionOutOfStock, "NoMachines", text)
	} else {
		_ = conditions.Clear(ConditionOutOfStock) // an error is only possible for parts of Ready
	}
}

// outOfStock names the plan types that a NodePool allows and that are out of stock at Linode; "" if there are none.
func (n *NodePools) outOfStock(pool *karpv1.NodePool) string {
	blocked, closed := n.types.Blocked(), n.types.Closed()
	if len(blocked) == 0 {
		return ""
	}
	want := instancetype.RequirementsOf(pool)
	var plans []string
	for _, it := range n.types.List() {
		if until, ok := blocked[it.Name]; ok && want.Intersects(it.Requirements) == nil {
			note := "next attempt"
			if _, shut := closed[it.Name]; shut {
				note = "closed to this account; next attempt"
			}
			plans = append(plans, fmt.Sprintf("%s (%s at %s)", it.Name, note, until.UTC().Format("15:04:05 UTC")))
		}
	}
	if len(plans) == 0 {
		return ""
	}
	return fmt.Sprintf("Linode has no capacity in %s for %s", n.types.Region(), strings.Join(plans, ", "))
}

// ReasonPriceChanged is the reason of events on NodePools that allow plan types whose price Linode has changed.
const ReasonPriceChanged = "PriceChanged"

// AnnouncePrices writes an event on each NodePool that allows plan types, or has nodes of them, whose prices have
// changed: Karpenter may move nodes because of it, and no commit shows that.
func (n *NodePools) AnnouncePrices(ctx context.Context, repriced []instancetype.Repriced) {
	var pools karpv1.NodePoolList
	var claims karpv1.NodeClaimList
	if err := errors.Join(n.client.List(ctx, &pools, client.UnsafeDisableDeepCopy), n.client.List(ctx, &claims, client.UnsafeDisableDeepCopy)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "could not list the NodePools and NodeClaims that changed prices concern")
		return
	}
	used := map[string]bool{} // pools and plan types of nodes
	for i := range claims.Items {
		used[claims.Items[i].Labels[karpv1.NodePoolLabelKey]+" "+nodeclaim.PlanOf(&claims.Items[i])] = true
	}
	offered := map[string]*cloudprovider.InstanceType{}
	for _, it := range n.types.List() {
		offered[it.Name] = it
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref == nil || ref.Group != linodev1alpha1.Group {
			continue
		}
		want := instancetype.RequirementsOf(pool)
		var changes []string
		for _, r := range repriced {
			if it := offered[r.Plan]; used[pool.Name+" "+r.Plan] || it != nil && want.Intersects(it.Requirements) == nil {
				changes = append(changes, fmt.Sprintf("%s from %s to %s", r.Plan, monthlyPrice(r.Was), monthlyPrice(r.Now)))
			}
		}
		if more := len(changes) - mostPrices; more > 0 {
			changes = append(changes[:mostPrices], fmt.Sprintf("and %d more", more))
		}
		if len(changes) > 0 {
			n.events.Eventf(pool, nil, corev1.EventTypeNormal, ReasonPriceChanged, "Consolidate",
				"the monthly price of plan types has changed, and Karpenter may move nodes for it: %s", strings.Join(changes, ", "))
		}
	}
}

// mostPrices is the largest number of changed prices in an event.
const mostPrices = 8

func monthlyPrice(p catalog.Price) string {
	if !p.Known() {
		return "unknown"
	}
	return p.Monthly.Text()
}

// ReasonClaimRefused is the reason of events on a NodePool whose NodeClaims the API server refuses.
const ReasonClaimRefused = "NodeClaimRefused"

// Unacceptable says why no node of the types can be created for a NodePool; "" if one can. refused is another
// reason, if any.
func Unacceptable(pool *karpv1.NodePool, types *instancetype.Set, refused string) string {
	var texts []string
	if refused != "" {
		texts = append(texts, refused)
	}
	want, region := instancetype.RequirementsOf(pool), types.Region()
	meets := func(it *cloudprovider.InstanceType) bool {
		return want.Intersects(it.Requirements) == nil && types.Makes(it.Name)
	}
	switch {
	case !want.Get(karpv1.CapacityTypeLabelKey).Has(karpv1.CapacityTypeOnDemand):
		texts = append(texts, fmt.Sprintf("spec.template.spec.requirements: Linode sells on demand only; set %s to %s.",
			karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand))
	case !want.Get(corev1.LabelTopologyZone).Has(region), !want.Get(corev1.LabelTopologyRegion).Has(region):
		texts = append(texts, fmt.Sprintf(
			"spec.template.spec.requirements: the cluster is in region %s, which is its only zone.", region))
	case types.WhyWithheld(want) != "":
		texts = append(texts, "spec.template.spec.requirements: "+types.WhyWithheld(want)+".")
	case slices.ContainsFunc(types.List(), meets): // in stock or not
	case types.WhyNothing(want) != "":
		texts = append(texts, "spec.template.spec.requirements: "+types.WhyNothing(want)+".")
	default:
		texts = append(texts, fmt.Sprintf(
			"spec.template.spec.requirements: no plan type that Linode sells in %s matches them.", region))
	}
	return strings.Join(texts, " ")
}

// OutOfStock returns the plan types that are out of stock according to the condition of a NodePool.
func OutOfStock(pool *karpv1.NodePool) (plans []string) {
	c := pool.StatusConditions(status.WithObservedOnly()).Get(ConditionOutOfStock)
	if !c.IsTrue() {
		return nil
	}
	_, list, _ := strings.Cut(c.Message, " for ")
	for one := range strings.SplitSeq(list, ", ") {
		plan, _, _ := strings.Cut(one, " ")
		plans = append(plans, plan)
	}
	return plans
}
