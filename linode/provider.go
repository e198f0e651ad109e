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

// Provider is the CloudProvider. Its methods answer from what is known; none of them waits until a machine exists.
type Provider struct {
	chooser  *Chooser
	machines Machines
	retired  instancetype.Retired

	Now         func() time.Time // of the clock
	RepairAfter time.Duration    // how long a node must not be ready before Karpenter replaces it; 0: the constant RepairAfter
}

// Machines are the Linodes of a cluster; package lke implements it for LKE's node pools.
type Machines interface {
	// Release allows the deletion of a NodeClaim's machine, and reports whether it is gone: a list that was
	// requested from Linode after the first call does not show it.
	Release(uid string) (gone bool)
	// Get returns a machine as a NodeClaim. The error is Karpenter's NotFound only if the machine is gone for good.
	Get(ctx context.Context, instance int) (*karpv1.NodeClaim, error)
	// List returns all machines, including those that may only be hidden for a moment.
	List(ctx context.Context) ([]*karpv1.NodeClaim, error)
}

// Orders turns NodeClaims into orders for machines.
type Orders interface {
	// Known reports whether everything is known about a class that an order needs.
	Known(class *linodev1alpha1.LinodeNodeClass) bool
	// Offer returns the types as they are for nodes of a class and a NodePool, which may be nil. It does not change
	// its argument.
	Offer(ctx context.Context, class string, pool *karpv1.NodePool, types []*cloudprovider.InstanceType) (
		[]*cloudprovider.InstanceType, error)
	// Order returns the annotations from which a claim's machine is created. If there is no room for another one,
	// the error is Karpenter's InsufficientCapacity.
	Order(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool,
		plan string) (map[string]string, error)
	// Drifted says how a claim's machine differs from its class and its order, without the differences that the
	// class's hash shows; "" if it does not.
	Drifted(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) (
		cloudprovider.DriftReason, error)
}

var _ cloudprovider.CloudProvider = (*Provider)(nil)

// NewProvider returns a CloudProvider.
func NewProvider(chooser *Chooser, machines Machines) *Provider {
	return &Provider{chooser: chooser, machines: machines, Now: time.Now}
}

// Region returns the region of the cluster, which is also its only zone.
func (p *Provider) Region() string { return p.chooser.Types.Region() }

// Name implements CloudProvider.
func (p *Provider) Name() string { return "linode" }

// GetSupportedNodeClasses implements CloudProvider.
func (p *Provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&linodev1alpha1.LinodeNodeClass{}}
}

// GetInstanceTypes implements CloudProvider. Every NodePool gets all plan types; Karpenter chooses by the
// NodePool's requirements. Plan types for which a CapacityLimit has no room have no available offering. The slice
// is shared: Karpenter filters it before it sorts. The plan types of the NodePool's existing nodes are always
// included.
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

// RepairAfter is how long a node must not be ready before Karpenter repairs, that is replaces, it.
const RepairAfter = 30 * time.Minute

// RepairPolicies implements CloudProvider. It returns the conditions that a kubelet on LKE reports, or that are set
// if it does not report. A kubelet that does not report cannot end pods, so such a node is not drained.
func (p *Provider) RepairPolicies() []cloudprovider.RepairPolicy {
	after := cmp.Or(p.RepairAfter, RepairAfter)
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: after,
			TerminationGracePeriod: ptr.To(10 * time.Minute), Action: cloudprovider.ReplaceNode},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, ReasonRegex: ".*",
			TolerationDuration: after, TerminationGracePeriod: ptr.To(time.Duration(0)), Action: cloudprovider.ReplaceNode},
	}
}

// Reboot implements CloudProvider. No policy uses it, because a replacement needs no further scope of the token.
func (p *Provider) Reboot(context.Context, *karpv1.NodeClaim, string) error {
	return cloudprovider.NewNodeRebootNotImplementedError()
}

// Create chooses the cheapest plan type that fits and returns immediately: the returned claim has everything that
// the scheduler needs, and a pending provider id.
func (p *Provider) Create(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	chosen, err := p.chooser.Choose(ctx, nc)
	if err != nil {
		return nil, delayRefusal(ctx, nc, err)
	}
	return chosen, nil
}

// Delete releases the claim's machine. It returns NotFound only if a list that was requested from Linode after the
// first call does not show the machine any more: Karpenter then removes its finalizer, and a machine that still
// runs would be leaked.
//
// A provider id that names no Linode was written by another program and has no machine, so that NotFound is
// returned immediately. If the claim had a machine before, the machine is without a claim and is deleted for that
// reason.
func (p *Provider) Delete(_ context.Context, nc *karpv1.NodeClaim) error {
	if id := nc.Status.ProviderID; !nodeclaim.IsPending(id) && nodeclaim.InstanceOf(id) == 0 {
		return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("%q is not the provider id of a Linode", id))
	}
	if !p.machines.Release(string(nc.UID)) {
		return nil
	}
	return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("Linode no longer has a machine of NodeClaim %s", nc.Name))
}

// Get returns what is known about a machine by its provider id. For a pending id it answers from the NodeClaim with
// that id. Karpenter calls it about once a second for each node that it drains and that is not ready.
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
