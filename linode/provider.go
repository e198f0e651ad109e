// Package linode is Karpenter's CloudProvider on LKE.
//
// A NodeClaim becomes a Linode in three steps that never wait for one another:
// Provider.Create picks a plan and answers at once with a pending provider id;
// the Fleet sees the claim, asks LKE for a slot in a node pool, and writes the
// Linode's id on the claim; EarlyBind marks the Node when it joins. What to ask
// of LKE is decided in linode/capacity, which is pure.
//
// The package knows no HCL and nothing of Git; it gets NodePools and
// LinodeNodeClasses from the API server, whoever wrote them.
package linode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Provider is the CloudProvider. Its methods answer from what the Fleet knows;
// none of them waits for LKE to make anything.
type Provider struct {
	client client.Client
	fleet  *Fleet
	types  *InstanceTypes
	limits *Limits
	// overlay applies NodeOverlays, as the core does to what it plans by.
	overlay func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error)
}

var _ cloudprovider.CloudProvider = (*Provider)(nil)

// NewProvider returns a CloudProvider for the cluster of the Fleet, which makes
// nothing that the limits have no room for.
func NewProvider(c client.Client, fleet *Fleet, limits *Limits) *Provider {
	return &Provider{client: c, fleet: fleet, types: limits.types, limits: limits}
}

// Overlay has plans chosen by what NodeOverlays make of them. Without it the
// cheapest plan for the core and for the provider could be two, and a resource
// that an overlay adds would fit nowhere.
func (p *Provider) Overlay(apply func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error)) {
	p.overlay = apply
}

// Name implements CloudProvider.
func (p *Provider) Name() string { return "linode" }

// GetSupportedNodeClasses implements CloudProvider.
func (p *Provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&linodev1alpha1.LinodeNodeClass{}}
}

// GetInstanceTypes implements CloudProvider. All plans are there for every
// NodePool; the core picks by the NodePool's requirements. Those that a
// CapacityLimit has no room for are not offered. The slice is shared: the core
// filters it before it sorts.
func (p *Provider) GetInstanceTypes(ctx context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if len(PoolProblems(pool)) > 0 {
		return p.types.Snapshot().hidden, nil // LKE would refuse each node
	}
	return p.limits.Types(ctx, pool.Name)
}

// RepairPolicies implements CloudProvider: the conditions that a kubelet on LKE
// reports, or that are set when it reports nothing.
func (p *Provider) RepairPolicies() []cloudprovider.RepairPolicy {
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: 30 * time.Minute},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, TolerationDuration: 30 * time.Minute},
	}
}

// Create picks the cheapest plan that fits and answers at once: the claim it
// returns carries all that the scheduler needs, and a provider id that says
// that the machine is still to come.
func (p *Provider) Create(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	class, err := p.nodeClass(ctx, nc)
	if err != nil {
		return nil, slowly(ctx, nc, err)
	}
	chosen, err := p.choose(ctx, nc, class)
	if err != nil {
		return nil, slowly(ctx, nc, err)
	}
	return chosen, nil
}

// Replan picks another plan for a claim whose plan cannot be had. Nothing is
// stored: the caller does that, or gives the claim up where there is no other
// plan.
func (p *Provider) Replan(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	class, err := p.nodeClass(ctx, nc)
	if err != nil {
		return nil, err
	}
	open := nc.DeepCopy()
	for _, key := range append(linodev1alpha1.PlanLabels(), corev1.LabelInstanceTypeStable) {
		delete(open.Labels, key)
	}
	return p.choose(ctx, open, class)
}

// choose gives a claim the cheapest plan that it allows and that the limits
// have room for.
func (p *Provider) choose(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) (*karpv1.NodeClaim, error) {
	pool, err := p.nodePool(ctx, nc)
	if err != nil {
		return nil, err
	}
	want, types := requirements(nc, pool), p.types.List()
	if p.overlay != nil && pool != nil { // a NodeOverlay is for NodePools alone
		if types, err = p.overlay(pool.Name, types); err != nil {
			return nil, fmt.Errorf("apply the NodeOverlays: %w", err)
		}
	}
	fit := candidates(types, want, nc.Spec.Resources.Requests)
	if len(fit) == 0 {
		return nil, cloudprovider.NewInsufficientCapacityError(errors.New("no plan that the NodeClaim allows can be had now"))
	}
	it, err := p.limits.Reserve(ctx, nc, fit)
	if err != nil {
		return nil, err
	}
	plan, _ := p.types.Plan(it.Name)
	group := groupFor(nc, class, it.Name, poolLabels(nc, pool))
	group.Version = p.version(class)
	chosen := nc.DeepCopy()
	chosen.Labels = claimLabels(nc, want, planLabels(plan, p.types.region))
	chosen.Annotations = map[string]string{
		AnnotationGroup:                      group.Encode(),
		linodev1alpha1.AnnotationHash:        class.Hash(),
		linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion,
	}
	chosen.Status.ProviderID = pendingID(string(nc.UID))
	chosen.Status.Capacity = it.Capacity.DeepCopy()
	chosen.Status.Allocatable = it.Allocatable().DeepCopy()
	return chosen, nil
}

// classGrace is for how long a new claim may be ahead of its class in the caches.
const classGrace = 10 * time.Second

// nodeClass returns the claim's class, where it is fit to make nodes from. For a
// claim whose class was made along with it, the error is one after which the core
// tries again: for those that name a class that is not ready, or that there is no
// capacity, it deletes the claim.
func (p *Provider) nodeClass(ctx context.Context, nc *karpv1.NodeClaim) (*linodev1alpha1.LinodeNodeClass, error) {
	var class linodev1alpha1.LinodeNodeClass
	err := p.client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class)
	switch {
	case apierrors.IsNotFound(err) && time.Since(nc.CreationTimestamp.Time) < classGrace:
		return nil, fmt.Errorf("there is no LinodeNodeClass %q yet", nc.Spec.NodeClassRef.Name)
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("there is no LinodeNodeClass %q", nc.Spec.NodeClassRef.Name))
	case err != nil:
		return nil, fmt.Errorf("get LinodeNodeClass %q: %w", nc.Spec.NodeClassRef.Name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %q is being deleted", class.Name))
	}
	switch ready := class.StatusConditions().Get(status.ConditionReady); {
	case ready.IsUnknown():
		return nil, fmt.Errorf("LinodeNodeClass %q has not been checked yet", class.Name)
	case ready.IsFalse():
		return nil, cloudprovider.NewNodeClassNotReadyError(errors.New(ready.Message))
	}
	return &class, nil
}

// nodePool returns the claim's NodePool; nil for a NodeClaim that was made by
// hand.
func (p *Provider) nodePool(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodePool, error) {
	name := nc.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	var pool karpv1.NodePool
	if err := p.client.Get(ctx, client.ObjectKey{Name: name}, &pool); err != nil {
		return nil, fmt.Errorf("get NodePool %q: %w", name, err)
	}
	return &pool, nil
}

// Delete lets the claim's machine go. It says NotFound only when LKE, asked
// after the first call, does not show the machine any more: the core then drops
// its finalizer, and a machine that were still there would be paid for by
// nobody's order. An id that names no Linode, which somebody else has written,
// is no machine's: one that the claim had before is nobody's from then on, and
// goes as such.
func (p *Provider) Delete(_ context.Context, nc *karpv1.NodeClaim) error {
	if id := nc.Status.ProviderID; !isPending(id) && instanceOf(id) == 0 {
		return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("%q is not the provider id of a Linode", id))
	}
	if !p.fleet.Release(string(nc.UID)) {
		return nil
	}
	return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("LKE does not have the machine of NodeClaim %s any more", nc.Name))
}

// Get returns what is known of a machine by its provider id. A pending id is
// answered from the NodeClaim that it belongs to.
func (p *Provider) Get(ctx context.Context, providerID string) (*karpv1.NodeClaim, error) {
	if uid, ok := strings.CutPrefix(providerID, pendingScheme); ok {
		return p.pending(ctx, uid)
	}
	instance := instanceOf(providerID)
	if instance == 0 {
		return nil, fmt.Errorf("%q is not the provider id of a Linode", providerID)
	}
	pools, err := p.fleet.Pools(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	for _, pool := range pools {
		for _, slot := range pool.Slots {
			if slot.InstanceID == instance {
				return p.machine(pool, slot), nil
			}
		}
	}
	if slices.ContainsFunc(pools, func(pool lkeapi.Pool) bool { return pool.Count > len(pool.Slots) }) {
		return nil, fmt.Errorf("LKE does not list all nodes of cluster %d yet; Linode %d may be among them", p.fleet.cluster.ID, instance)
	}
	return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("no pool of cluster %d has Linode %d", p.fleet.cluster.ID, instance))
}

func (p *Provider) pending(ctx context.Context, uid string) (*karpv1.NodeClaim, error) {
	nc, err := (&NodeClaims{client: p.client}).get(ctx, uid)
	switch {
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewNodeClaimNotFoundError(err)
	case err != nil:
		return nil, err
	}
	return nc, nil
}

// List returns the machines of all pools of the cluster, and the claims that
// wait for one. The core deletes a claim whose machine is missing here, so that
// an error, or a pool whose nodes LKE does not list yet, ends the list.
func (p *Provider) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	pools, err := p.fleet.Pools(ctx, time.Now().Add(-10*time.Second))
	if err != nil {
		return nil, err
	}
	var machines []*karpv1.NodeClaim
	for _, pool := range pools {
		if pool.Count > len(pool.Slots) {
			return nil, fmt.Errorf("LKE does not list all nodes of pool %d yet: %d of %d", pool.ID, len(pool.Slots), pool.Count)
		}
		for _, slot := range pool.Slots {
			if slot.InstanceID != 0 {
				machines = append(machines, p.machine(pool, slot))
			}
		}
	}
	return machines, nil
}

// machine describes a slot with an instance as a NodeClaim.
func (p *Provider) machine(pool lkeapi.Pool, slot lkeapi.Slot) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{}
	nc.Name = nodeName(p.fleet.cluster.ID, slot.ID)
	nc.Labels = maps.Clone(pool.Labels)
	if plan, ok := p.types.Plan(pool.Type); ok {
		nc.Labels = planLabels(plan, p.types.region)
		maps.Copy(nc.Labels, pool.Labels)
		nc.Status.Capacity, _ = nodeResources(plan, expected(plan))
	}
	nc.Status.ProviderID = linodeID(slot.InstanceID)
	nc.Status.NodeName = nc.Name
	return nc
}
