package limits

// An Enforcer applies CapacityLimits and the limits of NodePools when a plan type is chosen, hides plan types that
// do not fit any more, and reports on the objects what is used, what is left and what is waiting.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Enforcer refuses nodes for which a CapacityLimit or the limits of their NodePool have no room. It is safe for
// concurrent use.
//
// It counts NodeClaims: each one with a plan type has a machine or gets one. Reserve chooses for one claim at a
// time, and its choice counts immediately, before the API server or the cache shows it. Karpenter plans a whole
// batch of pods with the limits at its start; the claims that exceed the limits are refused here, before they cost
// anything.
type Enforcer struct {
	cached client.Client
	live   client.Reader
	types  *instancetype.Set

	mu        sync.Mutex
	book      *Book
	shown     time.Time // when the tally was last updated
	recovered bool
	tally     Tally
	counted   uint64 // grows with each tally; zero before the first
	views     map[string]view
}

// view holds the instance types that a NodePool is offered.
type view struct {
	version uint64 // version of the types
	counted uint64 // version of the tally
	mask    []bool // true where a type is hidden
	types   []*cloudprovider.InstanceType
}

// NewEnforcer returns an Enforcer of the limits that a cached client shows. live must read from the API server: it
// is used once, for choices of an earlier process that the cache may not show yet.
func NewEnforcer(cached client.Client, live client.Reader, types *instancetype.Set) *Enforcer {
	refusals()
	return &Enforcer{cached: cached, live: live, types: types, book: NewBook(), views: map[string]view{}}
}

// Reserve chooses the first of the types for a NodeClaim for which all limits have room. If there is none, the
// error is of class InsufficientCapacity and names the limit.
func (e *Enforcer) Reserve(
	ctx context.Context, nc *karpv1.NodeClaim, fit []*cloudprovider.InstanceType,
) (*cloudprovider.InstanceType, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// In a burst one count is used many times; it includes what was reserved since then.
	if time.Since(e.shown) > time.Second {
		if err := e.show(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.recover(ctx); err != nil {
		return nil, err
	}
	wishes := make([]Node, len(fit))
	for i, it := range fit {
		wishes[i] = e.wish(nc.Labels[karpv1.NodePoolLabelKey], it)
	}
	chosen, refusal, ok := e.book.Reserve(string(nc.UID), wishes, time.Now())
	e.count()
	if !ok {
		refusals().WithLabelValues(kindOf(refusal.Limit), refusal.Limit.Name).Inc()
		return nil, cloudprovider.NewInsufficientCapacityError(errors.New(describeRefusal(refusal, fit[0].Name)))
	}
	return fit[chosen], nil
}

// Types returns all types as they are offered to a NodePool: those for which a CapacityLimit has no room have no
// available offering. The NodePool's own limits hide nothing, because Karpenter counts them without the nodes that
// it is about to replace.
func (e *Enforcer) Types(ctx context.Context, pool string) ([]*cloudprovider.InstanceType, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counted == 0 {
		if err := e.show(ctx); err != nil {
			return nil, err
		}
	}
	list, v := e.types.Snapshot(), e.views[pool]
	if v.version == list.Version && v.counted == e.counted {
		return v.types, nil
	}
	v = e.updatedView(pool, list, v)
	e.views[pool] = v
	return v.types, nil
}

// updatedView returns the plan types that the limits leave to a pool. It keeps the slice of the old view if they are the
// same.
func (e *Enforcer) updatedView(pool string, list instancetype.List, old view) view {
	shared := e.tally.Shared()
	next := view{version: list.Version, counted: e.counted, mask: make([]bool, len(list.Types))}
	same := old.version == list.Version
	for i, it := range list.Types {
		_, next.mask[i] = shared.Refuses(e.wish(pool, it))
		same = same && next.mask[i] == old.mask[i]
	}
	if same {
		next.types = old.types
	} else {
		next.types = list.Without(func(i int) bool { return next.mask[i] })
	}
	return next
}

// Show updates the tally from the cache, and returns what all nodes use.
func (e *Enforcer) Show(ctx context.Context) (Tally, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.show(ctx); err != nil {
		return Tally{}, err
	}
	return e.tally, nil
}

// unlimited reports whether the last count found no CapacityLimit.
func (e *Enforcer) unlimited() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.tally.Shared().limits) == 0
}

func (e *Enforcer) show(ctx context.Context) error {
	caps, err := e.caps(ctx)
	if err != nil {
		return err
	}
	claims, err := e.claims(ctx, e.cached, client.UnsafeDisableDeepCopy)
	if err != nil {
		return err
	}
	e.shown = time.Now()
	e.book.Show(caps, claims, e.shown)
	e.count()
	return nil
}

// recover reads the choices of an earlier process once, from the API server.
func (e *Enforcer) recover(ctx context.Context) error {
	if e.recovered {
		return nil
	}
	claims, err := e.claims(ctx, e.live)
	if err != nil {
		return err
	}
	e.book.Recover(claims, time.Now())
	e.recovered = true
	return nil
}

func (e *Enforcer) count() {
	e.tally = e.book.Tally()
	e.counted++
}

func (e *Enforcer) caps(ctx context.Context) ([]Limit, error) {
	var shared lkeplanv1alpha1.CapacityLimitList
	if err := e.cached.List(ctx, &shared, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the CapacityLimits: %w", err)
	}
	var pools karpv1.NodePoolList
	if err := e.cached.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodePools: %w", err)
	}
	var caps []Limit
	for i := range shared.Items {
		caps = append(caps, sharedLimit(&shared.Items[i]))
	}
	for i := range pools.Items {
		if len(pools.Items[i].Spec.Limits) > 0 {
			caps = append(caps, ownLimit(&pools.Items[i]))
		}
	}
	ByName(caps)
	return caps, nil
}

// claims reads all NodeClaims, with the node that each counts as.
func (e *Enforcer) claims(ctx context.Context, from client.Reader, opts ...client.ListOption) ([]Claim, error) {
	var list karpv1.NodeClaimList
	if err := from.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	claims := make([]Claim, 0, len(list.Items))
	for i := range list.Items {
		nc := &list.Items[i]
		if !nodeclaim.Managed(nc) {
			continue
		}
		claim := Claim{UID: string(nc.UID)}
		if nodeclaim.Decided(nc) {
			claim.Decided, claim.Node = true, e.nodeOf(nc)
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// wish returns a node of a type in a NodePool.
func (e *Enforcer) wish(pool string, it *cloudprovider.InstanceType) Node {
	return Node{Pool: pool, Plan: it.Name, Sold: e.sold(it.Name), Reported: reportedAmounts(it.Capacity)}
}

// nodeOf returns the node that a NodeClaim has or gets.
func (e *Enforcer) nodeOf(nc *karpv1.NodeClaim) Node {
	plan := nodeclaim.PlanOf(nc)
	n := Node{
		Pool: nc.Labels[karpv1.NodePoolLabelKey], Plan: plan,
		Sold: e.sold(plan), Reported: reportedAmounts(nc.Status.Capacity),
	}
	if n.Sold == nil { // if it is on no price list, at least the node itself counts
		n.Sold = n.Reported
	}
	// Without this option StatusConditions adds missing conditions to the object,
	// which belongs to the cache.
	replaced := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDisruptionReason)
	n.Replaced = !nc.DeletionTimestamp.IsZero() || replaced.IsTrue()
	return n
}

// sold returns the amounts that a plan type counts for; nil if it was never on the price list.
func (e *Enforcer) sold(id string) Amounts {
	plan, known := e.types.Plan(id)
	if !known {
		return nil
	}
	return Amounts{
		Nodes:       1,
		CPU:         int64(plan.VCPUs) * 1000,
		Memory:      int64(plan.MemoryMiB) << 20,
		MonthlyCost: int64(e.types.Price(id).PerMonth()),
	}
}
