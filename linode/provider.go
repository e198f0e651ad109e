// Package linode lets Karpenter create and delete Linodes: Provider is its CloudProvider. The
// controller gives it the Machines and Orders of one mode, linode/lke or linode/instance.
//
// A NodeClaim becomes a Linode in three steps, none of which waits for another:
// Provider.Create chooses a plan type and returns at once with a pending provider
// ID. On LKE, the Syncer of package lke sees the claim, requests a slot in a node pool from LKE, and writes
// the Linode's ID on the claim. The EarlyBinder prepares the Node when it joins. linode/capacity, which is
// pure, decides what to request.
//
// In more detail: Chooser.Choose takes the cheapest plan type (linode/instancetype) for which the limits have
// capacity (linode/limits), and writes what the scheduler needs on the claim. The loop (linode/loop) waits a
// moment for more claims. The Syncer polls pools and claims, calls capacity.Decide, and raises the count of a pool
// or creates one (linode/api). When a later poll shows an instance in a slot, it is bound to the oldest claim.
//
// In instance mode, linode/instance replaces linode/lke. Code of this package uses either of them through the
// interfaces Orders, Machines and Rules, and does not depend on the mode. The package does not depend on HCL or
// Git: it reads NodePools and LinodeNodeClasses from the API server.
package linode

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Provider is the CloudProvider. Its methods answer from what is known; none of
// them waits for a machine to be made.
type Provider struct {
	chooser  *Chooser
	machines Machines
	retired  instancetype.Retired

	RepairAfter time.Duration // how long a node must not be ready before Karpenter replaces it; 0: the constant RepairAfter
}

// Machines are the Linodes of a cluster. LKE shows those of LKE's node pools.
type Machines interface {
	// Release allows the deletion of a NodeClaim's machine, and reports whether a list of Linode after the first
	// call no longer shows it.
	Release(uid string) (gone bool)
	// Get returns a machine as a NodeClaim. The error is Karpenter's NotFound where the
	// machine is gone for good, and only then.
	Get(ctx context.Context, instance int) (*karpv1.NodeClaim, error)
	// List returns all machines, those included that may only be hidden for a moment.
	List(ctx context.Context) ([]*karpv1.NodeClaim, error)
}

// Orders is what a NodeClaim's machine is ordered by.
type Orders interface {
	// Known reports whether all is known of a class that an order needs.
	Known(class *linodev1alpha1.LinodeNodeClass) bool
	// Offer returns the types as nodes of a class have them, for a NodePool, which may be nil.
	// It changes none of those that it is given.
	Offer(ctx context.Context, class string, pool *karpv1.NodePool, types []*cloudprovider.InstanceType) (
		[]*cloudprovider.InstanceType, error)
	// Order returns the annotations that a claim has its machine made by. The error is
	// Karpenter's of class InsufficientCapacity if there is no room for one more.
	Order(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool,
		plan string) (map[string]string, error)
	// Drifted says why a claim's machine differs from its class and its order, without the differences that the
	// class's hash shows; "" if it does not.
	Drifted(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) (
		cloudprovider.DriftReason, error)
}

var _ cloudprovider.CloudProvider = (*Provider)(nil)

// NewProvider returns a CloudProvider.
func NewProvider(chooser *Chooser, machines Machines) *Provider {
	return &Provider{chooser: chooser, machines: machines}
}

// Region is the region of the cluster, and its only zone.
func (p *Provider) Region() string { return p.chooser.Types.Region() }

// Name implements CloudProvider.
func (p *Provider) Name() string { return "linode" }

// GetSupportedNodeClasses implements CloudProvider.
func (p *Provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&linodev1alpha1.LinodeNodeClass{}}
}

// GetInstanceTypes implements CloudProvider. Every NodePool gets all plan types;
// Karpenter picks by the NodePool's requirements. Those that a CapacityLimit has
// no room for have no available offering. The slice is shared: Karpenter filters
// it before it sorts. What the NodePool's nodes are of is always among them.
func (p *Provider) GetInstanceTypes(ctx context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	types, err := p.offered(ctx, pool)
	if err != nil {
		return nil, err
	}
	return p.retired.Add(pool.Name, types, func() ([]karpv1.NodeClaim, error) {
		var claims karpv1.NodeClaimList
		err := p.chooser.Client.List(ctx, &claims, client.UnsafeDisableDeepCopy,
			client.MatchingLabels{karpv1.NodePoolLabelKey: pool.Name})
		if err != nil {
			return nil, fmt.Errorf("list the NodeClaims of NodePool %q: %w", pool.Name, err)
		}
		return claims.Items, nil
	})
}

func (p *Provider) offered(ctx context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	types, err := p.chooser.Limits.Types(ctx, pool.Name)
	if err != nil {
		return nil, err
	}
	var class string
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		class = ref.Name
	}
	return p.chooser.Orders.Offer(ctx, class, pool, types)
}

// RepairAfter is how long a node must not be ready before Karpenter replaces it: repair.
const RepairAfter = 30 * time.Minute

// RepairPolicies implements CloudProvider: the conditions that a kubelet on LKE reports, or that are set when it
// reports nothing. A kubelet that reports nothing ends no pod, so its node is not drained.
func (p *Provider) RepairPolicies() []cloudprovider.RepairPolicy {
	after := cmp.Or(p.RepairAfter, RepairAfter)
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: after,
			TerminationGracePeriod: ptr.To(10 * time.Minute), Action: cloudprovider.ReplaceNode},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, ReasonRegex: ".*",
			TolerationDuration: after, TerminationGracePeriod: ptr.To(time.Duration(0)), Action: cloudprovider.ReplaceNode},
	}
}

// Reboot implements CloudProvider. No policy asks for it: a replacement needs no further scope of the token.
func (p *Provider) Reboot(context.Context, *karpv1.NodeClaim, string) error {
	return cloudprovider.NewNodeRebootNotImplementedError()
}

// Create chooses the cheapest plan type that fits and returns immediately: the returned claim has everything
// that the scheduler needs, and a pending provider id.
func (p *Provider) Create(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	chosen, err := p.chooser.Choose(ctx, nc)
	if err != nil {
		return nil, delayRefusal(ctx, nc, err)
	}
	return chosen, nil
}

// Delete releases the claim's machine. It returns NotFound only when Linode, asked
// after the first call, does not show the machine any more: Karpenter then removes
// its finalizer, and a machine that still runs would be leaked.
//
// An id that names no Linode was written by another program and stands for no
// machine: NotFound at once. The machine that the claim had before, if any, has no
// owner and is deleted as such.
func (p *Provider) Delete(_ context.Context, nc *karpv1.NodeClaim) error {
	if id := nc.Status.ProviderID; !nodeclaim.IsPending(id) && nodeclaim.InstanceOf(id) == 0 {
		return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("%q is not the provider id of a Linode", id))
	}
	if !p.machines.Release(string(nc.UID)) {
		return nil
	}
	return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("Linode no longer has a machine of NodeClaim %s", nc.Name))
}

// Get returns what is known of a machine by its provider id. A pending id is
// answered from the NodeClaim that it belongs to. Karpenter asks about once a second
// for each node that it drains and that is not ready.
func (p *Provider) Get(ctx context.Context, providerID string) (*karpv1.NodeClaim, error) {
	if uid, pending := nodeclaim.UIDOf(providerID); pending {
		nc, err := nodeclaim.ByUID(ctx, p.chooser.Client, uid)
		if apierrors.IsNotFound(err) {
			err = cloudprovider.NewNodeClaimNotFoundError(err)
		}
		return nc, err
	}
	instance := nodeclaim.InstanceOf(providerID)
	if instance == 0 {
		return nil, fmt.Errorf("%q is not the provider id of a Linode", providerID)
	}
	return p.machines.Get(ctx, instance)
}

// List returns all machines of the cluster.
func (p *Provider) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	return p.machines.List(ctx)
}
