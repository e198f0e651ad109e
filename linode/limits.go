package linode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/limits"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Limits holds back nodes that a CapacityLimit or the limits of their NodePool
// have no room for. It is safe for concurrent use.
//
// NodeClaims are what counts: each one that a plan was chosen for has a machine
// or gets one. Reserve is the one place where a plan is chosen, one claim at a
// time, and what it gave counts at once, before the API server or the cache
// knows of it. The core itself plans a whole batch of pods by what it saw at the
// start; the claims that go too far are refused here, before they cost anything.
type Limits struct {
	cached client.Client
	live   client.Reader
	types  *InstanceTypes

	mu        sync.Mutex
	book      *limits.Book
	shown     time.Time // when the book was last brought up to date
	recovered bool
	tally     limits.Tally
	counted   uint64 // grows with each tally; zero before the first
	views     map[string]view
}

// view is what a NodePool is offered.
type view struct {
	version uint64 // of the types
	counted uint64 // of the tally
	mask    []bool
	types   []*cloudprovider.InstanceType
}

// NewLimits returns the limits that the cached client shows. The live reader
// must read from the API server: it is asked once, for what an earlier process
// has decided that the cache may not show yet.
func NewLimits(cached client.Client, live client.Reader, types *InstanceTypes) *Limits {
	return &Limits{cached: cached, live: live, types: types, book: limits.NewBook(), views: map[string]view{}}
}

// Reserve chooses for a NodeClaim the first of the types that all limits have
// room for. The error of class InsufficientCapacity names the limit that has
// none.
func (l *Limits) Reserve(ctx context.Context, nc *karpv1.NodeClaim, fit []*cloudprovider.InstanceType) (*cloudprovider.InstanceType, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// In a burst one look serves many: what was reserved since counts anyway.
	if time.Since(l.shown) > time.Second {
		if err := l.show(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.recover(ctx); err != nil {
		return nil, err
	}
	wishes := make([]limits.Node, len(fit))
	for i, it := range fit {
		wishes[i] = l.wish(nc.Labels[karpv1.NodePoolLabelKey], it)
	}
	chosen, refusal, ok := l.book.Reserve(string(nc.UID), wishes, time.Now())
	l.count()
	if !ok {
		refusals().WithLabelValues(kindOf(refusal.Limit), refusal.Limit.Name).Inc()
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("%s", describe(refusal, fit[0].Name)))
	}
	return fit[chosen], nil
}

// Types returns all types as a NodePool is offered them: what the CapacityLimits
// have no room for is not available. The limits that the NodePool has itself
// hide nothing, because the core counts them without the nodes that it is about
// to replace.
func (l *Limits) Types(ctx context.Context, pool string) ([]*cloudprovider.InstanceType, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counted == 0 {
		if err := l.show(ctx); err != nil {
			return nil, err
		}
	}
	list, v := l.types.Snapshot(), l.views[pool]
	if v.version == list.Version && v.counted == l.counted {
		return v.types, nil
	}
	v = l.look(pool, list, v)
	l.views[pool] = v
	return v.types, nil
}

// look brings a view up to date. It keeps the slice where nothing has changed.
func (l *Limits) look(pool string, list TypeList, old view) view {
	shared := l.tally.Shared()
	next := view{version: list.Version, counted: l.counted, mask: make([]bool, len(list.Types))}
	same := old.version == list.Version
	for i, it := range list.Types {
		_, next.mask[i] = shared.Refuses(l.wish(pool, it))
		same = same && next.mask[i] == old.mask[i]
	}
	if same {
		next.types = old.types
	} else {
		next.types = list.without(func(i int) bool { return next.mask[i] })
	}
	return next
}

// Show takes over what the cache shows now, and returns what is held.
func (l *Limits) Show(ctx context.Context) (limits.Tally, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.show(ctx); err != nil {
		return limits.Tally{}, err
	}
	return l.tally, nil
}

// unlimited reports whether there was no CapacityLimit when it last looked.
func (l *Limits) unlimited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally.Shared().Empty()
}

func (l *Limits) show(ctx context.Context) error {
	caps, err := l.caps(ctx)
	if err != nil {
		return err
	}
	claims, err := l.claims(ctx, l.cached, client.UnsafeDisableDeepCopy)
	if err != nil {
		return err
	}
	l.shown = time.Now()
	l.book.Show(caps, claims, l.shown)
	l.count()
	return nil
}

// recover reads once, from the API server itself, what was decided before.
func (l *Limits) recover(ctx context.Context) error {
	if l.recovered {
		return nil
	}
	claims, err := l.claims(ctx, l.live)
	if err != nil {
		return err
	}
	l.book.Recover(claims, time.Now())
	l.recovered = true
	return nil
}

func (l *Limits) count() {
	l.tally = l.book.Tally()
	l.counted++
}

// caps reads all limits.
func (l *Limits) caps(ctx context.Context) ([]limits.Limit, error) {
	var shared lkeplanv1alpha1.CapacityLimitList
	if err := l.cached.List(ctx, &shared, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the CapacityLimits: %w", err)
	}
	var pools karpv1.NodePoolList
	if err := l.cached.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodePools: %w", err)
	}
	var caps []limits.Limit
	for i := range shared.Items {
		caps = append(caps, sharedLimit(&shared.Items[i]))
	}
	for i := range pools.Items {
		if len(pools.Items[i].Spec.Limits) > 0 {
			caps = append(caps, ownLimit(&pools.Items[i]))
		}
	}
	limits.ByName(caps)
	return caps, nil
}

// claims reads all NodeClaims as they count.
func (l *Limits) claims(ctx context.Context, from client.Reader, opts ...client.ListOption) ([]limits.Claim, error) {
	var list karpv1.NodeClaimList
	if err := from.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	claims := make([]limits.Claim, 0, len(list.Items))
	for i := range list.Items {
		nc := &list.Items[i]
		if !managed(nc) {
			continue
		}
		claim := limits.Claim{UID: string(nc.UID)}
		if _, decided := claimOf(nc); decided {
			claim.Decided, claim.Node = true, l.held(nc)
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// wish is a node of a type in a NodePool.
func (l *Limits) wish(pool string, it *cloudprovider.InstanceType) limits.Node {
	return limits.Node{Pool: pool, Plan: it.Name, Sold: l.sold(it.Name), Reported: reported(it.Capacity)}
}

// held is what a NodeClaim holds.
func (l *Limits) held(nc *karpv1.NodeClaim) limits.Node {
	plan := planOf(nc)
	n := limits.Node{Pool: nc.Labels[karpv1.NodePoolLabelKey], Plan: plan, Sold: l.sold(plan), Reported: reported(nc.Status.Capacity)}
	if n.Sold == nil { // on no price list: at least the node itself counts
		n.Sold = n.Reported
	}
	// Without the option conditions that are missing would be written to the
	// object, which is the cache's.
	replaced := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDisruptionReason)
	n.Replaced = !nc.DeletionTimestamp.IsZero() || replaced.IsTrue()
	return n
}

// sold is what a plan counts for; nil for one that was never on the price list.
func (l *Limits) sold(id string) limits.Amounts {
	plan, known := l.types.Plan(id)
	if !known {
		return nil
	}
	return limits.Amounts{
		limits.Nodes:       1,
		limits.CPU:         int64(plan.VCPUs) * 1000,
		limits.Memory:      int64(plan.MemoryMiB) << 20,
		limits.MonthlyCost: int64(l.types.Price(id).Monthly),
	}
}
