package linode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Chooser chooses the plan type of a NodeClaim: the cheapest one that the claim allows, that its pods fit on, and
// that no limit refuses.
type Chooser struct {
	Client client.Client // has the index IndexUID of NodeClaims
	Types  *instancetype.Set
	Limits *limits.Enforcer
	Orders Orders
	// Overlay applies the NodeOverlays of a NodePool, as Karpenter does before it
	// plans; nil if there are none. Without it the two could disagree on the
	// cheapest plan type, and a resource that an overlay adds would fit nowhere.
	Overlay func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error)
}

// Choose returns a copy of the claim with its plan type: labels, the annotations of the order, resources and a
// pending provider id. It stores nothing. If the claim must be deleted, the error is Karpenter's
// InsufficientCapacity or NodeClassNotReady.
func (c *Chooser) Choose(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	class, err := c.nodeClass(ctx, nc)
	if err != nil {
		return nil, err
	}
	pool, err := c.nodePool(ctx, nc)
	if err != nil {
		return nil, err
	}
	want := claimRequirements(nc, pool)
	it, err := c.reserve(ctx, nc, pool, want)
	if err != nil {
		return nil, err
	}
	plan, _ := c.Types.Plan(it.Name)
	chosen := nc.DeepCopy()
	chosen.Labels = claimLabels(nc, want, instancetype.Labels(plan, c.Types.Region()))
	if chosen.Annotations, err = c.Orders.Order(ctx, nc, class, pool, it.Name); err != nil {
		return nil, err
	}
	stampWith(&chosen.ObjectMeta, class.Hash())
	limits.StampTemplate(chosen.Annotations, nc, pool, class)
	chosen.Status.ProviderID = nodeclaim.PendingID(string(nc.UID))
	chosen.Status.Capacity = it.Capacity.DeepCopy()
	chosen.Status.Allocatable = it.Allocatable().DeepCopy()
	return chosen, nil
}

// Replan chooses another plan type for a claim whose own has no capacity. It stores nothing: the caller stores the
// result, or deletes the claim if the error is of class InsufficientCapacity or NodeClassNotReady.
func (c *Chooser) Replan(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	open := nc.DeepCopy()
	for _, key := range append(linodev1alpha1.PlanLabels(), corev1.LabelInstanceTypeStable) {
		delete(open.Labels, key)
	}
	return c.Choose(ctx, open)
}

// reserve returns the cheapest instance type for a claim that the limits allow, and counts it.
func (c *Chooser) reserve(
	ctx context.Context, nc *karpv1.NodeClaim, pool *karpv1.NodePool, want scheduling.Requirements,
) (*cloudprovider.InstanceType, error) {
	types, err := c.Orders.Offer(ctx, nc.Spec.NodeClassRef.Name, pool, c.Types.List())
	if err != nil {
		return nil, err
	}
	if c.Overlay != nil && pool != nil { // Karpenter applies NodeOverlays only to NodePools
		if types, err = c.Overlay(pool.Name, types); err != nil {
			return nil, fmt.Errorf("apply the NodeOverlays: %w", err)
		}
	}
	fit := instancetype.Candidates(types, want, nc.Spec.Resources.Requests)
	if len(fit) == 0 {
		return nil, cloudprovider.NewInsufficientCapacityError(errors.New("no plan type that the NodeClaim allows is " +
			"available now"))
	}
	c.Types.StockFirst(fit, want)
	return c.Limits.Reserve(ctx, nc, fit)
}

// classGrace is how long after its creation a claim's class may be missing in the cache.
const classGrace = 10 * time.Second

// nodeClass returns the claim's class if nodes can be created from it. If the class was created together with the
// claim, the cache may not have it yet, and the error makes Karpenter try again; for an error of class
// InsufficientCapacity or NodeClassNotReady, it would delete the claim.
func (c *Chooser) nodeClass(ctx context.Context, nc *karpv1.NodeClaim) (*linodev1alpha1.LinodeNodeClass, error) {
	if !nodeclaim.Managed(nc) {
		return nil, fmt.Errorf("NodeClaim %s names no LinodeNodeClass", nc.Name)
	}
	var class linodev1alpha1.LinodeNodeClass
	name := nc.Spec.NodeClassRef.Name
	err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &class)
	switch {
	case apierrors.IsNotFound(err) && time.Since(nc.CreationTimestamp.Time) < classGrace:
		return nil, fmt.Errorf("LinodeNodeClass %q does not exist yet", name)
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("LinodeNodeClass %q does not exist", name))
	case err != nil:
		return nil, fmt.Errorf("get LinodeNodeClass %q: %w", name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %q is being deleted", name))
	}
	switch ready := class.StatusConditions().Get(status.ConditionReady); {
	case ready.IsUnknown(), ready.ObservedGeneration < class.Generation,
		!c.Orders.Known(&class):
		return nil, fmt.Errorf("LinodeNodeClass %q has not been checked yet", name)
	case ready.IsFalse():
		return nil, cloudprovider.NewNodeClassNotReadyError(errors.New(ready.Message))
	}
	return &class, nil
}

// nodePool returns the claim's NodePool; nil for a NodeClaim that a user created.
func (c *Chooser) nodePool(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodePool, error) {
	name := nc.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	var pool karpv1.NodePool
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &pool); err != nil {
		return nil, fmt.Errorf("get NodePool %q: %w", name, err)
	}
	return &pool, nil
}

// claimRequirements returns the requirements that a claim has for its machine.
//
// When Karpenter replaces a node by a cheaper one, and the NodePool does not mention capacity types, it requires
// spot (karpenter v1.15.0, computeConsolidation in pkg/controllers/disruption/consolidation.go), which Linode does
// not have. Karpenter means "cheaper", and the plan types that it allows are cheaper on demand. Therefore on-demand
// is allowed if the NodePool allows it.
func claimRequirements(nc *karpv1.NodeClaim, pool *karpv1.NodePool) scheduling.Requirements {
	want := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...)
	if pool == nil {
		return want
	}
	if instancetype.RequirementsOf(pool).Get(karpv1.CapacityTypeLabelKey).Has(karpv1.CapacityTypeOnDemand) {
		want[karpv1.CapacityTypeLabelKey] = scheduling.NewRequirement(
			karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand)
	}
	return want
}

// claimLabels returns the labels of the claim's Node, as far as they are known: those of the plan type, and those
// for which the claim's requirements allow only one value. Pods that are scheduled before the Node joins need them.
func claimLabels(nc *karpv1.NodeClaim, want scheduling.Requirements, plan map[string]string) map[string]string {
	labels := map[string]string{}
	for key, r := range want {
		if r.Operator() == corev1.NodeSelectorOpIn && r.Len() == 1 {
			labels[key] = r.Values()[0]
		}
	}
	maps.Copy(labels, plan)
	maps.Copy(labels, nc.Labels)
	return labels
}
