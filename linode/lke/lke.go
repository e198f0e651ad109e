package lke

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Machines implements Orders and Machines for the Linodes in the node pools of an LKE cluster.
type Machines struct {
	client   client.Client
	types    *instancetype.Set
	cluster  int
	tier     catalog.Tier
	pools    PoolSource
	upgrades *upgrades
}

// PoolSource lists the node pools of a cluster, and releases machines; Syncer implements it.
type PoolSource interface {
	// Pools returns all pools of the cluster as LKE showed them at a time or later.
	Pools(ctx context.Context, notBefore time.Time) ([]api.Pool, error)
	// Last returns all pools as LKE last showed them, however old that is.
	Last() []api.Pool
	// Release allows the deletion of a NodeClaim's machine, and reports whether a list of LKE after the first
	// call no longer shows it.
	Release(uid string) (gone bool)
	// Traits returns the properties of the pool of an instance, if they are known.
	Traits(instance int) (capacity.Traits, bool)
}

// New returns the machines of a cluster.
func New(c client.Client, types *instancetype.Set, cluster int, tier catalog.Tier, pools PoolSource) *Machines {
	return &Machines{client: c, types: types, cluster: cluster, tier: tier, pools: pools, upgrades: &upgrades{client: c}}
}

// Known implements Orders. On Enterprise, nodes are created with the class's version, which must be known.
func (l *Machines) Known(class *linodev1alpha1.LinodeNodeClass) bool {
	return l.tier != catalog.Enterprise || class.Status.KubernetesVersion != ""
}

// Offer implements Orders. It offers nothing to a NodePool all of whose nodes LKE would refuse. On Enterprise, it
// offers plans with GPUs if the class has the annotation that says that Linode sells them to the account.
func (l *Machines) Offer(
	ctx context.Context, class string, pool *karpv1.NodePool, types []*cloudprovider.InstanceType,
) ([]*cloudprovider.InstanceType, error) {
	if pool != nil && len(PoolProblems(pool)) > 0 {
		return l.types.Snapshot().Hidden(), nil
	}
	sold, err := l.sellsGPUs(ctx, class)
	if err != nil || sold {
		return types, err
	}
	return l.types.WithoutGPUs(types), nil
}

// Refused says in one line what LKE would refuse of a NodePool; "" if it accepts everything. In addition to
// PoolProblems, it reports a NodePool on Enterprise that allows only plans with GPUs although they are not known to
// be sold.
func (l *Machines) Refused(ctx context.Context, pool *karpv1.NodePool) string {
	refused := Refused(pool)
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && l.types.OnlyGPUs(instancetype.RequirementsOf(pool)) {
		if sold, err := l.sellsGPUs(ctx, ref.Name); err == nil && !sold {
			refused = strings.TrimSpace(refused + " spec.template.spec.requirements: Linode may not sell GPU plans on LKE " +
				"Enterprise; if it sells them to you, set gpu_plans = true in the cluster block.")
		}
	}
	return refused
}

// sellsGPUs reports whether Linode sells plans with GPUs for nodes of a class.
func (l *Machines) sellsGPUs(ctx context.Context, name string) (bool, error) {
	if l.tier != catalog.Enterprise {
		return true, nil
	}
	var class linodev1alpha1.LinodeNodeClass
	if err := l.client.Get(ctx, client.ObjectKey{Name: name}, &class); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get LinodeNodeClass %q: %w", name, err)
	}
	return class.Annotations[schemas.AnnotationGPUPlans] == "true", nil
}

// Order implements Orders: it returns the group of LKE pools as annotations.
func (l *Machines) Order(
	_ context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool, plan string,
) (map[string]string, error) {
	group := groupFor(nc, class, plan, poolLabels(nc, pool), l.tier)
	return map[string]string{nodeclaim.AnnotationGroup: group.Encode()}, nil
}

// Release implements Machines.
func (l *Machines) Release(uid string) (gone bool) { return l.pools.Release(uid) }

// Get implements Machines. It may use the last list. A machine that the list does not show is gone for good, unless
// LKE does not list all slots of the machine's pool.
func (l *Machines) Get(ctx context.Context, instance int) (*karpv1.NodeClaim, error) {
	pools, err := l.pools.Pools(ctx, time.Now().Add(-recent))
	if err != nil {
		if nc := l.listedMachine(l.pools.Last(), instance); nc != nil {
			return nc, nil // the last list is a better answer than none
		}
		return nil, err
	}
	if nc := l.listedMachine(pools, instance); nc != nil {
		return nc, nil
	}
	node, err := l.nodeName(ctx, nodeclaim.LinodeID(instance))
	if err != nil {
		return nil, err
	}
	if pool, ok := l.poolThatMayHold(pools, node); ok {
		return nil, fmt.Errorf("LKE does not list all nodes of pool %d yet, %d of %d; Linode %d may be one of them",
			pool.ID, len(pool.Linodes), pool.Count, instance)
	}
	var claims karpv1.NodeClaimList
	if err := l.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for i := range claims.Items {
		if nc := &claims.Items[i]; nodeclaim.InstanceOf(nc.Status.ProviderID) == instance && l.maintained(pools, nc, node) {
			return nil, fmt.Errorf("LKE does not list Linode %d while Linode maintains its host", instance)
		}
	}
	return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("no pool of cluster %d has Linode %d", l.cluster,
		instance))
}

// recent is the largest age of a list that proves that a machine is gone. This is safe, because a machine that is
// gone does not come back, and Karpenter asks for no machine before its Node has joined, which takes longer.
const recent = 2 * time.Second

// List implements Machines. It returns the machines of all pools of the cluster, and those of NodeClaims that may
// be in a slot that LKE counts and does not list, or whose hosts are under maintenance: Karpenter deletes a
// registered claim if its machine is missing here and its Node is not ready.
func (l *Machines) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	pools, err := l.pools.Pools(ctx, time.Now().Add(-10*time.Second))
	if err != nil {
		return nil, err
	}
	var machines []*karpv1.NodeClaim
	listed := map[string]bool{}
	for _, pool := range pools {
		for _, slot := range pool.Linodes {
			if slot.InstanceID != 0 {
				machines = append(machines, l.machine(pool, slot))
				listed[nodeclaim.LinodeID(slot.InstanceID)] = true
			}
		}
	}
	hidden, err := l.unlisted(ctx, pools, listed)
	return append(machines, hidden...), err
}

// machine describes a slot with an instance as a NodeClaim.
func (l *Machines) machine(pool api.Pool, slot api.Slot) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{}
	nc.Name = NodeName(l.cluster, slot.ID)
	nc.Labels = maps.Clone(pool.Labels)
	if plan, ok := l.types.Plan(pool.Type); ok {
		nc.Labels = instancetype.Labels(plan, l.types.Region())
		maps.Copy(nc.Labels, pool.Labels)
		nc.Status.Capacity = instancetype.Capacity(plan, l.tier)
	}
	nc.Status.ProviderID = nodeclaim.LinodeID(slot.InstanceID)
	nc.Status.NodeName = nc.Name
	return nc
}

// Drifted implements Orders.
func (l *Machines) Drifted(ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) (
	cloudprovider.DriftReason, error) {
	if drifted, err := l.upgrades.versionDrifted(ctx, nc, class); drifted || err != nil {
		return nodeclaim.VersionDrifted, err
	}
	group, err := capacity.DecodeGroup(nc.Annotations[nodeclaim.AnnotationGroup])
	if err != nil {
		return "", nil // another provider created it, so its group is unknown
	}
	if traits, known := l.pools.Traits(nodeclaim.InstanceOf(nc.Status.ProviderID)); known && !group.CanKeep(traits) {
		return nodeclaim.PoolDrifted, nil
	}
	return "", nil
}

// LKE may count slots of a pool that it does not list: on Enterprise those of new nodes, for about a minute. A
// machine that is not listed may be in one of them, but only in a slot of its pool, whose number is in the name of
// its Node. Hidden slots of other pools do not matter.
//
// Unverified: that the number in the name of a Node is that of its pool.

// listedMachine returns the machine with the instance; nil if the pools do not list it.
func (l *Machines) listedMachine(pools []api.Pool, instance int) *karpv1.NodeClaim {
	for _, pool := range pools {
		for _, slot := range pool.Linodes {
			if slot.InstanceID == instance {
				return l.machine(pool, slot)
			}
		}
	}
	return nil
}

// poolThatMayHold returns the pool that may have the machine of a Node in a slot that it does not list. If the pool
// of the Node is unknown, it may be any pool.
func (l *Machines) poolThatMayHold(pools []api.Pool, node string) (api.Pool, bool) {
	number, _, known := SlotOf(l.cluster, node)
	i := slices.IndexFunc(pools, func(pool api.Pool) bool {
		return pool.Count > len(pool.Linodes) && (!known || pool.ID == number)
	})
	if i < 0 {
		return api.Pool{}, false
	}
	return pools[i], true
}

// maintained reports whether the slot of a NodeClaim's machine shows no instance because its host is under
// maintenance.
func (l *Machines) maintained(pools []api.Pool, nc *karpv1.NodeClaim, node string) bool {
	_, slot, ok := SlotOf(l.cluster, node)
	return ok && maintenance.Of(nc).Explains(time.Now()) && slices.ContainsFunc(pools, func(p api.Pool) bool {
		return slices.ContainsFunc(p.Linodes, func(s api.Slot) bool { return s.ID == slot && s.InstanceID == 0 })
	})
}

// nodeName returns the name of the Node with a provider id; "" if there is none.
func (l *Machines) nodeName(ctx context.Context, providerID string) (string, error) {
	var nodes corev1.NodeList
	err := l.client.List(ctx, &nodes, client.MatchingFields{"spec.providerID": providerID},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return "", fmt.Errorf("list the Nodes with provider id %s: %w", providerID, err)
	}
	if len(nodes.Items) == 0 {
		return "", nil
	}
	return nodes.Items[0].Name, nil
}

// unlisted returns the machines of NodeClaims that are not listed, but that LKE may hide, or whose hosts are under
// maintenance.
func (l *Machines) unlisted(
	ctx context.Context, pools []api.Pool, listed map[string]bool,
) (machines []*karpv1.NodeClaim, err error) {
	var claims karpv1.NodeClaimList
	if err := l.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for i := range claims.Items {
		id, node := claims.Items[i].Status.ProviderID, claims.Items[i].Status.NodeName
		if nodeclaim.InstanceOf(id) == 0 || listed[id] {
			continue
		}
		if _, ok := l.poolThatMayHold(pools, node); ok || l.maintained(pools, &claims.Items[i], node) {
			nc := &karpv1.NodeClaim{}
			nc.Name, nc.Status.ProviderID, nc.Status.NodeName = node, id, node
			machines = append(machines, nc)
		}
	}
	return machines, nil
}
