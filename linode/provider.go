// Package linode is Karpenter's CloudProvider on LKE.
//
// A NodeClaim becomes a Linode in three steps that never wait for one another:
// Provider.Create picks a plan type and answers at once with a pending provider
// id; the Fleet sees the claim, asks LKE for a slot in a node pool, and writes the
// Linode's id on the claim; earlybind prepares the Node when it joins. What to ask
// of LKE is decided in linode/capacity, which is pure.
//
// The package knows no HCL and nothing of Git; it gets NodePools and
// LinodeNodeClasses from the API server, whoever wrote them.
package linode

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Provider is the CloudProvider. Its methods answer from what is known; none of
// them waits for LKE to make anything.
type Provider struct {
	chooser  *Chooser
	cluster  int
	machines Machines
	upgrades *upgrades
	retired  instancetype.Retired
}

// Machines are the Linodes of an LKE cluster; fleet.Fleet is one.
type Machines interface {
	// Pools returns all pools of the cluster as LKE showed them at a time or later.
	Pools(ctx context.Context, notBefore time.Time) ([]lkeapi.Pool, error)
	// Last returns all pools as LKE showed them last, whenever that was.
	Last() []lkeapi.Pool
	// Release says that the machine of a NodeClaim may go, and reports whether LKE,
	// asked after the first call, does not show it any more.
	Release(uid string) (gone bool)
	// Traits returns what the pool of an instance is like, where that is known.
	Traits(instance int) (capacity.Traits, bool)
}

var _ cloudprovider.CloudProvider = (*Provider)(nil)

// NewProvider returns a CloudProvider for an LKE cluster.
func NewProvider(chooser *Chooser, cluster int, machines Machines) *Provider {
	return &Provider{
		chooser: chooser, cluster: cluster, machines: machines, upgrades: &upgrades{client: chooser.Client},
	}
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
	if len(PoolProblems(pool)) > 0 {
		return p.chooser.Types.Snapshot().Hidden(), nil // LKE would refuse each node
	}
	return p.chooser.Limits.Types(ctx, pool.Name)
}

// RepairPolicies implements CloudProvider: the conditions that a kubelet on LKE
// reports, or that are set when it reports nothing.
func (p *Provider) RepairPolicies() []cloudprovider.RepairPolicy {
	const tolerated = 30 * time.Minute
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: tolerated},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, TolerationDuration: tolerated},
	}
}

// Create picks the cheapest plan type that fits and answers at once: the claim it
// returns carries all that the scheduler needs, and a pending provider id.
func (p *Provider) Create(ctx context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	chosen, err := p.chooser.Choose(ctx, nc)
	if err != nil {
		return nil, slowly(ctx, nc, err)
	}
	return chosen, nil
}

// Delete releases the claim's machine. It returns NotFound only when LKE, asked
// after the first call, does not show the machine any more: Karpenter then removes
// its finalizer, and a machine that still runs would be leaked.
//
// An id that names no Linode was written by somebody else and stands for no
// machine: NotFound at once. The machine that the claim had before, if any, has no
// owner and is deleted as such.
func (p *Provider) Delete(_ context.Context, nc *karpv1.NodeClaim) error {
	if id := nc.Status.ProviderID; !nodeclaim.IsPending(id) && nodeclaim.InstanceOf(id) == 0 {
		return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("%q is not the provider id of a Linode", id))
	}
	if !p.machines.Release(string(nc.UID)) {
		return nil
	}
	return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("LKE has no machine of NodeClaim %s any more", nc.Name))
}

// Get returns what is known of a machine by its provider id. A pending id is
// answered from the NodeClaim that it belongs to. Karpenter asks about once a second
// for each node that it drains and that is not ready: hence a list that is a moment
// old will do. A machine that it does not show is gone for good, unless LKE does not
// list all of the machine's pool.
func (p *Provider) Get(ctx context.Context, providerID string) (*karpv1.NodeClaim, error) {
	if uid, pending := nodeclaim.UIDOf(providerID); pending {
		return p.pending(ctx, uid)
	}
	instance := nodeclaim.InstanceOf(providerID)
	if instance == 0 {
		return nil, fmt.Errorf("%q is not the provider id of a Linode", providerID)
	}
	pools, err := p.machines.Pools(ctx, time.Now().Add(-recent))
	if err != nil {
		if nc := p.shown(p.machines.Last(), instance); nc != nil {
			return nc, nil // what LKE showed last is a better answer than none
		}
		return nil, err
	}
	if nc := p.shown(pools, instance); nc != nil {
		return nc, nil
	}
	node, err := p.nodeOf(ctx, providerID)
	if err != nil {
		return nil, err
	}
	if pool, ok := p.mayHold(pools, node); ok {
		return nil, fmt.Errorf("LKE does not list all nodes of pool %d yet, %d of %d; Linode %d may be one of them",
			pool.ID, len(pool.Linodes), pool.Count, instance)
	}
	return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("no pool of cluster %d has Linode %d", p.cluster,
		instance))
}

// recent is how old a list may be that says that a machine is gone. No machine
// comes back, and Karpenter asks for no machine before its Node has joined, which
// takes longer.
const recent = 2 * time.Second

func (p *Provider) pending(ctx context.Context, uid string) (*karpv1.NodeClaim, error) {
	nc, err := nodeclaim.ByUID(ctx, p.chooser.Client, uid)
	switch {
	case apierrors.IsNotFound(err):
		return nil, cloudprovider.NewNodeClaimNotFoundError(err)
	case err != nil:
		return nil, err
	}
	return nc, nil
}

// List returns the machines of all pools of the cluster, and those of NodeClaims that
// may be in a slot which LKE counts and does not list: Karpenter deletes a registered
// claim whose machine is missing here and whose Node is not ready.
func (p *Provider) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	pools, err := p.machines.Pools(ctx, time.Now().Add(-10*time.Second))
	if err != nil {
		return nil, err
	}
	var machines []*karpv1.NodeClaim
	listed := map[string]bool{}
	for _, pool := range pools {
		for _, slot := range pool.Linodes {
			if slot.InstanceID != 0 {
				machines = append(machines, p.machine(pool, slot))
				listed[nodeclaim.LinodeID(slot.InstanceID)] = true
			}
		}
	}
	hidden, err := p.hidden(ctx, pools, listed)
	return append(machines, hidden...), err
}

// machine describes a slot with an instance as a NodeClaim.
func (p *Provider) machine(pool lkeapi.Pool, slot lkeapi.Slot) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{}
	nc.Name = nodeclaim.NodeName(p.cluster, slot.ID)
	nc.Labels = maps.Clone(pool.Labels)
	if plan, ok := p.chooser.Types.Plan(pool.Type); ok {
		nc.Labels = instancetype.Labels(plan, p.chooser.Types.Region())
		maps.Copy(nc.Labels, pool.Labels)
		nc.Status.Capacity = instancetype.Capacity(plan)
	}
	nc.Status.ProviderID = nodeclaim.LinodeID(slot.InstanceID)
	nc.Status.NodeName = nc.Name
	return nc
}
