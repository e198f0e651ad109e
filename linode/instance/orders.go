package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Orders implements linode.Orders for instance mode.
type Orders struct {
	client client.Client
	shown  Shown
	offers
	groups groups
}

// Shown has the last known properties of machines; *Machines implements it.
type Shown interface {
	// PlanType returns the current plan type of a Linode; "" if Linode does not show it.
	PlanType(ctx context.Context, instance int) (string, error)
}

// NewOrders returns the orders for the classes and NodeClaims of a client. shown is nil if there are no machines.
func NewOrders(c client.Client, shown Shown) *Orders {
	return &Orders{
		client: c, shown: shown, offers: offers{made: map[offer]variants{}}, groups: groups{taken: map[string]place{}},
	}
}

// Known implements linode.Orders: the references of the class must be resolved.
func (o *Orders) Known(class *linodev1alpha1.LinodeNodeClass) bool { return referencesResolved(class) }

// Offer implements linode.Orders. It subtracts what the class's kubelet and disks use, and makes all types
// unavailable while the placement group is full.
func (o *Orders) Offer(
	ctx context.Context, name string, pool *karpv1.NodePool, types []*cloudprovider.InstanceType,
) ([]*cloudprovider.InstanceType, error) {
	var class linodev1alpha1.LinodeNodeClass
	if err := o.client.Get(ctx, client.ObjectKey{Name: name}, &class); err != nil {
		return types, client.IgnoreNotFound(err) // Karpenter does not use a pool without its class
	}
	full, err := o.groups.full(ctx, o.client, orderOf(&class, pool, ""), "")
	if err != nil {
		return nil, err
	}
	return o.offers.typesFor(&class, full, types), nil
}

// Order implements linode.Orders.
func (o *Orders) Order(
	ctx context.Context, nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool, plan string,
) (map[string]string, error) {
	is := orderOf(class, pool, plan)
	if perPool(class) != nil && is.PoolGroup == nil {
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("LinodeNodeClass %q gives each NodePool a "+
			"placement group, but the NodeClaim belongs to no NodePool", class.Name))
	}
	if why, err := o.full(ctx, is, string(nc.UID)); err != nil {
		return nil, err
	} else if why != "" {
		return nil, cloudprovider.NewInsufficientCapacityError(errors.New(why))
	}
	return map[string]string{nodeclaim.AnnotationOrder: is.Encode()}, nil
}

// Full implements linode.Full: a placement group has room for few machines.
func (o *Orders) Full(
	ctx context.Context, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool,
) (why string, err error) {
	return o.full(ctx, orderOf(class, pool, ""), "")
}

// full says why there is no room for a machine of an order; "" if there is, in which case it is reserved for the
// claim.
func (o *Orders) full(ctx context.Context, is Order, uid string) (why string, err error) {
	full, err := o.groups.full(ctx, o.client, is, uid)
	if err != nil || !full {
		return "", err
	}
	return fmt.Sprintf("%s is full: it has the maximum of %d Linodes", is.Group(), is.PlacementGroupMax), nil
}

// orderOf returns the order of a machine of a class in a NodePool, which may be nil.
func orderOf(class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool, plan string) Order {
	o := OrderFor(class, plan)
	if of := perPool(class); of != nil && pool != nil {
		o.PoolGroup, o.PlacementGroupMax = &PoolGroup{Pool: pool.Name, Policy: of.Policy}, groupSize
	}
	return o
}

// perPool returns the settings for the placement groups of a class's NodePools; nil if the class requests none.
func perPool(class *linodev1alpha1.LinodeNodeClass) *linodev1alpha1.PerPool {
	return ptr.Deref(class.Spec.PlacementGroup, linodev1alpha1.PlacementGroup{}).PerPool
}

// Drifted implements linode.Orders: a Linode that was resized differs from its order. Everything else that replaces
// a machine is in its class's hash.
func (o *Orders) Drifted(
	ctx context.Context, nc *karpv1.NodeClaim, _ *linodev1alpha1.LinodeNodeClass,
) (cloudprovider.DriftReason, error) {
	instance := nodeclaim.InstanceOf(nc.Status.ProviderID)
	is, err := DecodeOrder(nc.Annotations[nodeclaim.AnnotationOrder])
	if err != nil || instance == 0 || o.shown == nil {
		return "", nil // another provider has created it, or it does not exist yet
	}
	plan, err := o.shown.PlanType(ctx, instance)
	if err != nil || plan == "" || plan == is.Plan {
		return "", err
	}
	return nodeclaim.Resized, nil
}

// offers caches the types as nodes of classes have them, because Karpenter computes allocatable resources once for
// each pointer.
type offers struct {
	mu   sync.Mutex
	made map[offer]variants
}

// offer is a class, with a full placement group or not. If it is full, no type is available.
type offer struct {
	class string
	full  bool
}

// variants are the types of an offer at one time, by the types from which they were made.
type variants struct {
	by    string // the order, without a plan type
	types map[*cloudprovider.InstanceType]*cloudprovider.InstanceType
}

func (k *offers) typesFor(
	class *linodev1alpha1.LinodeNodeClass, full bool, types []*cloudprovider.InstanceType,
) []*cloudprovider.InstanceType {
	is := OrderFor(class, "")
	if !full && is.Plain() {
		return types
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := offer{class.Name, full}
	v, known := k.made[key]
	if by := is.Encode(); !known || v.by != by || len(v.types) > 4*len(types) {
		v = variants{by, map[*cloudprovider.InstanceType]*cloudprovider.InstanceType{}}
	}
	k.made[key] = v
	offered := make([]*cloudprovider.InstanceType, len(types))
	for n, it := range types {
		if v.types[it] == nil {
			v.types[it] = newVariant(it, is, full)
		}
		offered[n] = v.types[it]
	}
	return offered
}

// newVariant returns a type as the machines of an order have it. It is always a copy.
func newVariant(it *cloudprovider.InstanceType, is Order, hide bool) *cloudprovider.InstanceType {
	disks := instancetype.Disks{System: is.BootMiB, Swap: is.SwapMiB}
	with := instancetype.Variant(it, disks, ptr.Deref(is.Kubelet, linodev1alpha1.KubeletConfiguration{}))
	if hide {
		with.Offerings = slices.Clone(with.Offerings)
		for k, offering := range with.Offerings {
			closed := *offering
			closed.Available = false
			with.Offerings[k] = &closed
		}
	}
	return with
}

// groups counts the claims in each placement group, including those whose machine does not exist yet, because
// Linode allows few machines in a group.
type groups struct {
	mu    sync.Mutex
	taken map[string]place // by claim: places that the cache may not show yet
}

type place struct {
	group PlacementGroup
	at    time.Time
}

// unseen is how long the cache may lack a claim that has been answered.
const unseen = 30 * time.Second

// full reports whether the placement group of an order has no room for a claim. If it has room, the claim takes a
// place; uid is "" to only ask.
func (g *groups) full(ctx context.Context, c client.Client, o Order, uid string) (bool, error) {
	group := o.Group()
	if group == (PlacementGroup{}) {
		return false, nil
	}
	var list karpv1.NodeClaimList
	if err := c.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list the NodeClaims: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	in := map[string]bool{}
	for k := range list.Items {
		other, err := DecodeOrder(list.Items[k].Annotations[nodeclaim.AnnotationOrder])
		if err != nil {
			continue
		}
		delete(g.taken, string(list.Items[k].UID)) // the cache shows its place from now on
		if other.Group() == group {
			in[string(list.Items[k].UID)] = true
		}
	}
	now := time.Now()
	for other, p := range g.taken {
		if now.Sub(p.at) > unseen {
			delete(g.taken, other)
		} else if p.group == group {
			in[other] = true
		}
	}
	if !in[uid] && len(in) >= o.PlacementGroupMax {
		return true, nil
	}
	if uid != "" {
		g.taken[uid] = place{group, now}
	}
	return false, nil
}

// hasPlanResources reports whether a claim's machine was ordered with all resources of its plan type.
func hasPlanResources(nc *karpv1.NodeClaim) bool {
	o, err := DecodeOrder(nc.Annotations[nodeclaim.AnnotationOrder])
	return err == nil && o.Plain()
}
