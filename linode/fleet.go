package linode

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// API is what a Fleet asks of Linode; lkeapi.Client is one.
type API interface {
	Pools(ctx context.Context, cluster int) ([]lkeapi.Pool, error)
	CreatePool(ctx context.Context, cluster int, spec lkeapi.PoolSpec) (lkeapi.Pool, error)
	GrowPool(ctx context.Context, cluster, pool, count int) (lkeapi.Pool, error)
	DeletePool(ctx context.Context, cluster, pool int) error
	DeleteSlot(ctx context.Context, cluster int, slot string) error
}

// claimStore is where a Fleet finds the demand and leaves its answers. It must
// show what the API server stores, if late.
type claimStore interface {
	// List returns all claims that have or wait for a machine.
	List(ctx context.Context) ([]capacity.Claim, error)
	// Bind writes a claim's machine. It fails where the claim has changed.
	Bind(ctx context.Context, uid string, instance int) error
	// GiveUp deletes a claim that gets no machine, so that the core makes
	// another for its pods.
	GiveUp(ctx context.Context, uid, reason string) error
	// Warn tells whoever reads the claim's events.
	Warn(ctx context.Context, uid, reason, message string)
}

// Timing holds the delays that a Fleet goes by. The zero value of each field
// means the default that stands beside it.
type Timing struct {
	Settle      time.Duration // 200ms: for more claims to arrive before the first call
	Quick       time.Duration // 2s: between looks while somebody waits
	Idle        time.Duration // 1m: between looks while nobody does
	Grace       time.Duration // 1m: how long a slot may stay unowned
	SlotTimeout time.Duration // 4m: how long a slot may stay without an instance
	NoCapacity  time.Duration // 3m: how long a plan without capacity is left alone
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.Settle, 200*time.Millisecond)
	set(&t.Quick, 2*time.Second)
	set(&t.Idle, time.Minute)
	set(&t.Grace, time.Minute)
	set(&t.SlotTimeout, 4*time.Minute)
	set(&t.NoCapacity, 3*time.Minute)
	return t
}

// Fleet keeps the node pools of one LKE cluster in step with the NodeClaims. It
// is level-triggered: each look at LKE is one list of pools, which holds every
// slot and instance of the cluster; what is missing or too much follows from
// it and from the claims, so that an answer that was lost and a restart need
// no journal.
//
// One loop decides; the calls for a group run beside it, one work at a time
// for each group, so that a slow plan holds up nobody else.
type Fleet struct {
	api     API
	cluster lkeapi.Cluster
	claims  claimStore
	types   *InstanceTypes
	timing  Timing
	log     *slog.Logger
	wake    chan struct{}

	mu       sync.Mutex
	memory   capacity.Memory
	seen     look
	assigned map[string]int       // claim -> instance, of binds the store may not show yet
	released map[string]time.Time // claims whose machine may go, since when
	gone     map[string]bool      // released claims whose machine is gone for sure
	groups   map[string]*motion
	waiting  time.Time // since when somebody waits without a break
}

// look is one answer of LKE.
type look struct {
	asked time.Time // when the request was sent: what was done before is in it
	pools []lkeapi.Pool
}

// motion says whether a group's pools are being changed.
type motion struct {
	busy   bool
	rested time.Time // when the last change was answered
	hold   time.Time // no growth before
	fails  int       // growth failed so often in a row
}

// NewFleet returns a Fleet for one cluster. Start sets it in motion.
func NewFleet(api API, cluster lkeapi.Cluster, claims claimStore, types *InstanceTypes, timing Timing, log *slog.Logger) *Fleet {
	return &Fleet{
		api: api, cluster: cluster, claims: claims, types: types, timing: timing.withDefaults(), log: log,
		wake:     make(chan struct{}, 1),
		assigned: map[string]int{}, released: map[string]time.Time{}, gone: map[string]bool{}, groups: map[string]*motion{},
	}
}

// Wake asks for a look soon. It never blocks.
func (f *Fleet) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Start keeps the pools in step until ctx ends, and returns when the calls that
// were under way have ended. It implements manager.Runnable.
func (f *Fleet) Start(ctx context.Context) error {
	var works sync.WaitGroup
	defer works.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-f.wake:
			if !f.settle(ctx) {
				return nil
			}
		}
		timer.Reset(f.pass(ctx, &works))
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: two Fleets on
// one cluster would both make what is missing.
func (f *Fleet) NeedLeaderElection() bool { return true }

// settle waits for more claims to arrive: those of one scheduling pass come
// within milliseconds of one another, and one call can serve them all.
func (f *Fleet) settle(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(f.timing.Settle):
	}
	select {
	case <-f.wake:
	default:
	}
	return true
}

// pass looks once, acts on what it sees, and says when to look again.
func (f *Fleet) pass(ctx context.Context, works *sync.WaitGroup) time.Duration {
	seen, err := f.look(ctx)
	if err != nil {
		return f.retryLater(ctx, "look at the pools", err)
	}
	claims, err := f.claims.List(ctx)
	if err != nil {
		return f.retryLater(ctx, "list the NodeClaims", err)
	}
	decision := f.decide(seen, claims)
	f.bind(ctx, decision.Binds)
	for _, work := range decision.Works {
		works.Go(func() { f.carryOut(ctx, work) })
	}
	return f.next(decision)
}

func (f *Fleet) retryLater(ctx context.Context, what string, err error) time.Duration {
	if ctx.Err() == nil {
		f.log.Error("could not "+what, "class", lkeapi.ClassOf(err), "error", err)
	}
	return 2 * f.timing.Quick
}

// look asks LKE for all pools.
func (f *Fleet) look(ctx context.Context) (look, error) {
	seen := look{asked: time.Now()}
	pools, err := f.api.Pools(ctx, f.cluster.ID)
	if err != nil {
		return look{}, err
	}
	seen.pools = pools
	f.mu.Lock()
	defer f.mu.Unlock()
	if seen.asked.After(f.seen.asked) {
		f.seen = seen
	}
	return seen, nil
}

// decide runs the pure decision on what was seen and keeps of it what may be
// acted on: nothing of a group whose pools were changing when LKE was asked.
// The works it returns are marked as under way.
func (f *Fleet) decide(seen look, claims []capacity.Claim) capacity.Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(claims)
	for i := range claims {
		c := &claims[i]
		if instance, ok := f.assigned[c.UID]; ok && c.Instance == 0 {
			c.Instance = instance
		}
		_, c.Released = f.released[c.UID]
	}
	now := time.Now()
	policy := capacity.Policy{Grace: f.timing.Grace, SlotTimeout: f.timing.SlotTimeout, PoolSize: poolSize(f.cluster.Tier)}
	d := capacity.Decide(claims, poolsOf(seen.pools), f.memory, policy, now)
	f.memory = d.Memory
	moving := func(key string) bool {
		m := f.groups[key]
		return m != nil && (m.busy || m.rested.After(seen.asked))
	}
	f.settleReleased(seen, claims, d, moving)
	d.Binds = slices.DeleteFunc(d.Binds, func(b capacity.Bind) bool { return moving(b.Key) })
	d.Works = slices.DeleteFunc(d.Works, func(w capacity.Work) bool { return moving(w.Key) })
	d.Works = f.begin(d.Works, now)
	return d
}

// begin marks works as under way, and takes out the growth of groups whose
// last try failed a moment ago.
func (f *Fleet) begin(works []capacity.Work, now time.Time) []capacity.Work {
	var begun []capacity.Work
	for _, w := range works {
		m := f.groups[w.Key]
		if m == nil {
			m = &motion{}
			f.groups[w.Key] = m
		}
		if now.Before(m.hold) {
			w.Grow, w.Create, w.For = nil, nil, nil
			if len(w.DeleteSlots)+len(w.DeletePools)+len(w.Starved) == 0 {
				continue
			}
		}
		m.busy = true
		begun = append(begun, w)
	}
	return begun
}

// forget drops what is known of claims that are no more.
func (f *Fleet) forget(claims []capacity.Claim) {
	there := make(map[string]bool, len(claims))
	for _, c := range claims {
		there[c.UID] = true
		if c.Instance != 0 && f.assigned[c.UID] == 0 {
			f.assigned[c.UID] = c.Instance
		}
	}
	maps.DeleteFunc(f.assigned, func(uid string, _ int) bool { return !there[uid] })
	maps.DeleteFunc(f.released, func(uid string, _ time.Time) bool { return !there[uid] })
	maps.DeleteFunc(f.gone, func(uid string, _ bool) bool { return !there[uid] })
}

// settleReleased notes which released claims have no machine any more, by an
// answer that LKE gave to a question asked after the release.
func (f *Fleet) settleReleased(seen look, claims []capacity.Claim, d capacity.Decision, moving func(string) bool) {
	shrinking := map[string]bool{}
	for _, w := range d.Works {
		shrinking[w.Key] = len(w.DeleteSlots)+len(w.DeletePools) > 0
	}
	for _, c := range claims {
		since, released := f.released[c.UID]
		key := c.Group.Key()
		if !released || !seen.asked.After(since) || moving(key) {
			continue
		}
		if c.Instance == 0 {
			f.gone[c.UID] = !shrinking[key]
		} else {
			f.gone[c.UID] = !seen.mayHold(c.Instance, key)
		}
	}
}

// mayHold reports whether a pool has the instance, or may have it in a slot
// that LKE counts and does not list.
func (l look) mayHold(instance int, key string) bool {
	for _, p := range l.pools {
		if p.Count > len(p.Slots) && (groupOf(p) == key || groupOf(p) == "") {
			return true
		}
		if slices.ContainsFunc(p.Slots, func(s lkeapi.Slot) bool { return s.InstanceID == instance }) {
			return true
		}
	}
	return false
}

// bind writes the machines of claims, several at a time.
func (f *Fleet) bind(ctx context.Context, binds []capacity.Bind) {
	parallel(binds, func(b capacity.Bind) {
		if err := f.claims.Bind(ctx, b.UID, b.Instance); err != nil {
			f.log.Error("could not bind a machine to its NodeClaim", "uid", b.UID, "instance", b.Instance, "error", err)
			return
		}
		f.log.Info("machine bound", "uid", b.UID, "instance", b.Instance)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.assigned[b.UID] = b.Instance
	})
}

// next says when to look again: soon while somebody waits, less soon when the
// wait is long.
func (f *Fleet) next(d capacity.Decision) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !d.Waiting && !f.unsettled() && len(d.Works) == 0 {
		f.waiting = time.Time{}
		return f.timing.Idle
	}
	if f.waiting.IsZero() {
		f.waiting = now
	}
	switch waited := now.Sub(f.waiting); {
	case waited < 30*time.Second:
		return f.timing.Quick
	case waited < 2*time.Minute:
		return 2 * f.timing.Quick
	default:
		return 5 * f.timing.Quick
	}
}

// unsettled reports whether a released claim's machine may still be there.
func (f *Fleet) unsettled() bool {
	for uid := range f.released {
		if !f.gone[uid] {
			return true
		}
	}
	return false
}

// Release says that the machine of a claim may go, and reports whether it is
// gone: LKE was asked after the release and did not show it. The caller asks
// again until it is.
func (f *Fleet) Release(uid string) (gone bool) {
	f.mu.Lock()
	_, known := f.released[uid]
	if !known {
		f.released[uid] = time.Now()
	}
	gone = f.gone[uid]
	f.mu.Unlock()
	if !known {
		f.Wake()
	}
	return gone
}

// Assigned returns the machine of a claim, where this Fleet gave it one.
func (f *Fleet) Assigned(uid string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.assigned[uid]
}

// Pools returns all pools of the cluster as LKE showed them not earlier than
// at the given time, asking anew where that must be.
func (f *Fleet) Pools(ctx context.Context, notBefore time.Time) ([]lkeapi.Pool, error) {
	f.mu.Lock()
	seen := f.seen
	f.mu.Unlock()
	if seen.asked.Before(notBefore) || seen.asked.IsZero() {
		fresh, err := f.look(ctx)
		if err != nil {
			return nil, err
		}
		seen = fresh
	}
	return seen.pools, nil
}

// groupTag marks a pool as lkeplan's and names its group.
const groupTag = "lkeplan-group="

// groupOf is the key of the group that a pool belongs to; "" where the pool is
// not ours.
func groupOf(p lkeapi.Pool) string {
	for _, tag := range p.Tags {
		if key, ok := strings.CutPrefix(strings.ToLower(tag), groupTag); ok {
			return key
		}
	}
	return ""
}

func poolsOf(pools []lkeapi.Pool) []capacity.Pool {
	out := make([]capacity.Pool, 0, len(pools))
	for _, p := range pools {
		q := capacity.Pool{ID: p.ID, Group: groupOf(p), Plan: p.Type, Count: p.Count}
		for _, s := range p.Slots {
			q.Slots = append(q.Slots, capacity.Slot{ID: s.ID, Instance: s.InstanceID})
		}
		out = append(out, q)
	}
	return out
}
