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
	"cmp"
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
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

// Provider is the CloudProvider. Its methods answer from what the Fleet knows;
// none of them waits for LKE to make anything.
type Provider struct {
	client client.Client
	fleet  *Fleet
	types  *InstanceTypes
	limits *Limits
}

var _ cloudprovider.CloudProvider = (*Provider)(nil)

// NewProvider returns a CloudProvider for the cluster of the Fleet, which makes
// nothing that the limits have no room for.
func NewProvider(c client.Client, fleet *Fleet, limits *Limits) *Provider {
	return &Provider{client: c, fleet: fleet, types: limits.types, limits: limits}
}

// Name implements CloudProvider.
func (p *Provider) Name() string { return "linode" }

// GetSupportedNodeClasses implements CloudProvider.
func (p *Provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}

// GetInstanceTypes implements CloudProvider. All plans are there for every
// NodePool; the core picks by the NodePool's requirements. Those that a
// CapacityLimit has no room for are not offered. The slice is shared: the core
// filters it before it sorts.
func (p *Provider) GetInstanceTypes(ctx context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
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
		return nil, err
	}
	pool, err := p.nodePool(ctx, nc)
	if err != nil {
		return nil, err
	}
	want := requirements(nc, pool)
	fit := candidates(p.types.List(), want, nc.Spec.Resources.Requests)
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
	created := nc.DeepCopy()
	created.Labels = claimLabels(nc, want, planLabels(plan, p.types.region))
	created.Annotations = map[string]string{
		AnnotationGroup:                group.Encode(),
		v1alpha1.AnnotationHash:        class.Hash(),
		v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion,
	}
	created.Status.ProviderID = pendingID(string(nc.UID))
	created.Status.Capacity = it.Capacity.DeepCopy()
	created.Status.Allocatable = it.Allocatable().DeepCopy()
	return created, nil
}

// nodeClass returns the claim's class, where it is fit to make nodes from.
func (p *Provider) nodeClass(ctx context.Context, nc *karpv1.NodeClaim) (*v1alpha1.LinodeNodeClass, error) {
	var class v1alpha1.LinodeNodeClass
	err := p.client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("there is no LinodeNodeClass %q", nc.Spec.NodeClassRef.Name))
	case err != nil:
		return nil, fmt.Errorf("get LinodeNodeClass %q: %w", nc.Spec.NodeClassRef.Name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("LinodeNodeClass %q is being deleted", class.Name))
	}
	if ready := class.StatusConditions().Get(status.ConditionReady); !ready.IsTrue() {
		return nil, cloudprovider.NewNodeClassNotReadyError(errors.New(ready.Message))
	}
	return &class, nil
}

// version is the Kubernetes version that nodes of a class are to have: the
// class's, else the control plane's. On standard clusters LKE has no versions of
// pools.
func (p *Provider) version(class *v1alpha1.LinodeNodeClass) string {
	if class.Spec.LKEK8sVersion != nil {
		return *class.Spec.LKEK8sVersion
	}
	return p.fleet.Version()
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

// requirements are what the claim wants of its machine.
//
// When the core replaces a node by a cheaper one, and the NodePool says nothing
// of capacity types, it asks for spot (karpenter v1.14.1, computeConsolidation
// in pkg/controllers/disruption/consolidation.go), which Linode does not have.
// It means "cheaper", and the plans that it leaves are cheaper on demand: so
// where the NodePool allows on-demand, on-demand it is.
func requirements(nc *karpv1.NodeClaim, pool *karpv1.NodePool) scheduling.Requirements {
	want := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...)
	if pool == nil {
		return want
	}
	if poolRequirements(pool).Get(karpv1.CapacityTypeLabelKey).Has(karpv1.CapacityTypeOnDemand) {
		want[karpv1.CapacityTypeLabelKey] = scheduling.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand)
	}
	return want
}

// poolRequirements are what a NodePool wants of all its nodes.
func poolRequirements(pool *karpv1.NodePool) scheduling.Requirements {
	return scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
}

// candidates returns the types that have an available offering which the
// requirements allow, and that the requests fit in, cheapest first. Equal prices
// are in the order of names, so that claims of one shape end up in one group.
func candidates(types []*cloudprovider.InstanceType, want scheduling.Requirements, requests corev1.ResourceList) []*cloudprovider.InstanceType {
	var fit []*cloudprovider.InstanceType
	price := map[string]float64{}
	for _, it := range types {
		offerings := it.Offerings.Available().Compatible(want)
		if len(offerings) == 0 || want.Intersects(it.Requirements) != nil || !fits(requests, it.Allocatable()) {
			continue
		}
		fit = append(fit, it)
		price[it.Name] = offerings.Cheapest().Price
	}
	slices.SortStableFunc(fit, func(a, b *cloudprovider.InstanceType) int { return cmp.Compare(price[a.Name], price[b.Name]) })
	return fit
}

func fits(requests, allocatable corev1.ResourceList) bool {
	for name, want := range requests {
		if have := allocatable[name]; want.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// claimLabels are the labels of the claim's Node as far as they are decided:
// the plan's, and those that the claim's requirements leave one value for. Pods
// select in-flight nodes by them.
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

// poolLabels returns the labels that all nodes of the claim's NodePool have, as
// far as LKE takes them: labels of single claims would end up on all nodes of
// an LKE pool. Cloud Manager refuses keys of kubernetes.io and linode.com; the
// core puts those on the Node itself.
func poolLabels(nc *karpv1.NodeClaim, pool *karpv1.NodePool) map[string]string {
	if pool == nil {
		return nil
	}
	labels := map[string]string{karpv1.NodePoolLabelKey: pool.Name}
	for key := range pool.Spec.Template.Labels {
		if value, ok := nc.Labels[key]; ok && !Reserved(key) {
			labels[key] = value
		}
	}
	return labels
}

// Reserved tells keys of labels and taints that LKE keeps to itself. The
// provider does not send them.
func Reserved(key string) bool {
	return strings.Contains(key, "kubernetes.io") || strings.Contains(key, "linode.com")
}

// groupFor is the group of LKE pools that the claim's machine comes from.
func groupFor(nc *karpv1.NodeClaim, class *v1alpha1.LinodeNodeClass, plan string, labels map[string]string) capacity.Group {
	group := capacity.Group{
		NodePool:       nc.Labels[karpv1.NodePoolLabelKey],
		Plan:           plan,
		Labels:         labels,
		DiskEncryption: class.Spec.DiskEncryption,
		Tags:           slices.Sorted(slices.Values(class.Spec.Tags)),
	}
	if class.Spec.FirewallID != nil {
		group.FirewallID = *class.Spec.FirewallID
	}
	for _, t := range nc.Spec.Taints {
		if !Reserved(t.Key) {
			group.Taints = append(group.Taints, capacity.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return group
}

// Delete lets the claim's machine go. It says NotFound only when LKE, asked
// after the first call, does not show the machine any more: the core then drops
// its finalizer, and a machine that were still there would be paid for by
// nobody's order.
func (p *Provider) Delete(_ context.Context, nc *karpv1.NodeClaim) error {
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
		nc.Status.Capacity, _ = nodeResources(plan)
	}
	nc.Status.ProviderID = linodeID(slot.InstanceID)
	nc.Status.NodeName = nc.Name
	return nc
}

// Why a node is replaced, beside the reasons of the core.
const (
	// NodeClassDrifted: the LinodeNodeClass asks for other nodes now.
	NodeClassDrifted cloudprovider.DriftReason = "NodeClassDrift"
	// VersionDrifted: the control plane, or the class, has another Kubernetes
	// version now. On Enterprise clusters only.
	VersionDrifted cloudprovider.DriftReason = "KubernetesVersionDrift"
	// PoolDrifted: somebody changed the LKE node pool so that its nodes are not
	// what was asked for, and LKE cannot change them back in place.
	PoolDrifted cloudprovider.DriftReason = "LKEPoolDrift"
)

// IsDrifted implements CloudProvider. Hashes of different versions are not
// compared: the class controller stamps such claims anew. What can be put right
// in place is no drift, the Fleet does it.
func (p *Provider) IsDrifted(ctx context.Context, nc *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	var class v1alpha1.LinodeNodeClass
	if err := p.client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if nc.Annotations[v1alpha1.AnnotationHashVersion] != v1alpha1.HashVersion {
		return "", nil
	}
	if nc.Annotations[v1alpha1.AnnotationHash] != class.Hash() {
		return NodeClassDrifted, nil
	}
	group, err := capacity.DecodeGroup(nc.Annotations[AnnotationGroup])
	if err != nil {
		return "", nil // made by another provider: nothing is known of what it asked for
	}
	if want := p.version(&class); group.Version != "" && want != "" && group.Version != want {
		return VersionDrifted, nil
	}
	if traits, seen := p.fleet.traits(instanceOf(nc.Status.ProviderID)); seen && !group.CanHold(traits) {
		return PoolDrifted, nil
	}
	return "", nil
}
