// Package fleet keeps the node pools of one LKE cluster in step with the
// NodeClaims: it polls LKE, has linode/capacity decide what is missing and what
// is too much, sends the calls and writes the answers on the claims.
//
// It decides nothing about capacity itself and chooses no plan type.
package fleet

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// API is what a Fleet asks of Linode; lkeapi.Client is one.
type API interface {
	Cluster(ctx context.Context, id int) (lkeapi.Cluster, error)
	Pools(ctx context.Context, cluster int) ([]lkeapi.Pool, error)
	CreatePool(ctx context.Context, cluster int, spec lkeapi.PoolSpec) (lkeapi.Pool, error)
	GrowPool(ctx context.Context, cluster, pool, count int) (lkeapi.Pool, error)
	ChangePool(ctx context.Context, cluster, pool int, change lkeapi.PoolChange) error
	DeletePool(ctx context.Context, cluster, pool int) error
	DeleteSlot(ctx context.Context, cluster int, slot string) error
}

// Claims is where a Fleet finds the demand and leaves its answers. It must
// show what the API server stores, if late.
type Claims interface {
	// List returns all claims that have or wait for a machine.
	List(ctx context.Context) ([]capacity.Claim, error)
	// Bind writes a claim's machine. It fails where the claim has changed.
	Bind(ctx context.Context, b capacity.Bind) error
	// GiveUp ends the wait of a claim that gets no machine of its plan: it gets
	// another plan, or goes.
	GiveUp(ctx context.Context, uid, reason string) error
	// Warn tells whoever reads the claim's events.
	Warn(ctx context.Context, uid, reason, message string)
	// Tell tells whoever reads the events of a NodePool.
	Tell(ctx context.Context, nodePool, reason, message string)
}

// Timing holds the delays that a Fleet goes by. The zero value of each field
// means the default that stands beside it.
type Timing struct {
	Settle      time.Duration // 200ms: for more claims to arrive before the first call, where some may
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
	api          API
	cluster      lkeapi.Cluster
	controlPlane *ControlPlane
	claims       Claims
	types        *instancetype.Set
	timing       Timing
	log          *slog.Logger
	wake         chan struct{} // a look is due soon
	now          chan struct{} // and need not wait for more claims
	roster       *Roster       // nil where nobody reads it

	mu       sync.Mutex
	memory   capacity.Memory
	seen     look
	assigned map[string]int       // claim -> instance, of binds the store may not show yet
	released map[string]time.Time // claims whose machine may go, since when
	gone     map[string]bool      // released claims whose machine is gone for sure
	groups   map[string]*motion
	waiting  time.Time // since when somebody waits without a break
}

// motion says whether a group's pools are being changed.
type motion struct {
	busy   bool
	rested time.Time // when the last change was answered
	hold   time.Time // no growth before
	fails  int       // growth failed so often in a row
}

// Config is what a Fleet is made from. Only Roster and Timing may be left out.
type Config struct {
	API          API
	Cluster      lkeapi.Cluster
	ControlPlane *ControlPlane
	Claims       Claims
	Types        *instancetype.Set
	Roster       *Roster // nil where nobody reads it
	Timing       Timing
	Log          *slog.Logger
}

// New returns a Fleet for one cluster. Start sets it in motion.
func New(cfg Config) *Fleet {
	return &Fleet{
		api: cfg.API, cluster: cfg.Cluster, controlPlane: cfg.ControlPlane, claims: cfg.Claims, types: cfg.Types, roster: cfg.Roster,
		timing: cfg.Timing.withDefaults(), log: cfg.Log,
		wake:     make(chan struct{}, 1),
		now:      make(chan struct{}, 1),
		assigned: map[string]int{}, released: map[string]time.Time{}, gone: map[string]bool{}, groups: map[string]*motion{},
	}
}

// Wake asks for a look soon. It never blocks.
func (f *Fleet) Wake() { signal(f.wake) }

// WakeNow asks for a look at once: no more claims are on their way that one call
// could serve too. It never blocks.
func (f *Fleet) WakeNow() { signal(f.now) }

// signal leaves a token in a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain takes the token out, where there is one.
func drain(c <-chan struct{}) {
	select {
	case <-c:
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
		case <-f.now:
		case <-f.wake:
			if !f.settle(ctx) {
				return nil
			}
		}
		drain(f.wake) // what asked for a look until now is seen by this one
		drain(f.now)
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
	case <-f.now:
	case <-time.After(f.timing.Settle):
	}
	return true
}

// pass looks once, acts on what it sees, and says when to look again.
func (f *Fleet) pass(ctx context.Context, works *sync.WaitGroup) time.Duration {
	f.controlPlane.refresh(ctx)
	seen, err := f.look(ctx)
	if err != nil {
		return f.retryLater(ctx, "look at the pools", err)
	}
	if f.roster != nil {
		if err := f.roster.write(ctx, seen.pools); err != nil && ctx.Err() == nil {
			f.log.Error("the admission policy may miss new nodes", "error", err)
		}
	}
	claims, err := f.claims.List(ctx)
	if err != nil {
		return f.retryLater(ctx, "list the NodeClaims", err)
	}
	decision := f.decide(seen, claims)
	f.bind(ctx, decision.Binds)
	f.warn(ctx, decision.Lost, "MachineLost", "LKE does not have this node's Linode any more: it was deleted, or the count of its node pool was lowered, by somebody else; the NodeClaim ends when its Node is not ready")
	for _, work := range decision.Works {
		works.Go(func() { f.carryOut(ctx, work) })
	}
	return f.next(decision)
}

func (f *Fleet) retryLater(ctx context.Context, what string, err error) time.Duration {
	class := lkeapi.ClassOf(err)
	if ctx.Err() == nil {
		f.log.Error("could not "+what, "class", class, "error", err)
	}
	if class == lkeapi.ClassAuth {
		return 15 * f.timing.Quick // until somebody gives another token
	}
	return 2 * f.timing.Quick
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
	policy := capacity.Policy{Grace: f.timing.Grace, SlotTimeout: f.timing.SlotTimeout, PoolSize: poolSize(catalog.Tier(f.cluster.Tier))}
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
			if len(w.Mends)+len(w.DeleteSlots)+len(w.DeletePools)+len(w.Starved) == 0 {
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

// bind writes the machines of claims, several at a time.
func (f *Fleet) bind(ctx context.Context, binds []capacity.Bind) {
	parallel(binds, func(b capacity.Bind) {
		if err := f.claims.Bind(ctx, b); err != nil {
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
