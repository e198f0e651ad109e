// Package lke creates and deletes machines in the node pools of an LKE cluster. It implements linode's Orders,
// Machines and Rules, as package instance does for separate Linodes. A Syncer keeps the node pools in line with the
// NodeClaims: it polls LKE, calls linode/capacity for decisions, sends the calls and writes the results on the
// claims. An EarlyBinder prepares Nodes when they join. The package itself does not decide about capacity and does
// not choose plan types.
package lke

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// API is the part of the Linode API that a Syncer uses; api.Client implements it.
type API interface {
	Pools(ctx context.Context, cluster int) ([]api.Pool, error)
	CreatePool(ctx context.Context, cluster int, spec api.PoolSpec) (api.Pool, error)
	GrowPool(ctx context.Context, cluster, pool, count int) (api.Pool, error)
	ChangePool(ctx context.Context, cluster, pool int, change api.PoolChange) error
	DeletePool(ctx context.Context, cluster, pool int) error
	DeleteSlot(ctx context.Context, cluster int, slot string) error
	Versions(ctx context.Context, tier catalog.Tier) ([]string, error)
	Failures(ctx context.Context, since time.Time) ([]api.Failure, error)
	Offline(ctx context.Context, ids []int) (map[int]bool, error)
}

// Claims reads the demand and writes results for a Syncer. Its lists may lag behind the API server.
type Claims interface {
	// List returns all claims that have or wait for a machine.
	List(ctx context.Context) ([]capacity.Claim, error)
	// Bind writes a claim's machine. It fails if the claim has changed.
	Bind(ctx context.Context, b capacity.Bind) error
	// ReplanOrDelete gives a claim whose plan type has no capacity another plan type, or
	// deletes it if there is no other.
	ReplanOrDelete(ctx context.Context, uid, reason string) error
	// Extend restarts Karpenter's time for a claim to register if half of it is over.
	Extend(ctx context.Context, uid string) error
	// Lose deletes a claim whose machine, that instance, is gone.
	Lose(ctx context.Context, uid string, instance int, reason string) error
	// NotDeleted writes on a claim why its machine is not deleted.
	NotDeleted(ctx context.Context, uid, reason, message string) error
	// Warn writes a warning event on a claim.
	Warn(ctx context.Context, uid, reason, message string)
	// WarnNodePool writes a warning event on a NodePool.
	WarnNodePool(ctx context.Context, nodePool, reason, message string)
}

// NodeList lists and deletes the registered Nodes; nodeclaim.Nodes implements it.
type NodeList interface {
	// List returns the registered Nodes by their instance.
	List(ctx context.Context) (map[int]nodeclaim.Node, error)
	// Drain deletes a Node. The Node is gone after it is drained.
	Drain(ctx context.Context, name string) error
	// Keep records on a Node that it stays, so that the next process knows.
	Keep(ctx context.Context, name string) error
}

// decisionPolicy returns the settings of the decision. Cloud Manager allows 100 nodes in a pool and 250 in a standard
// cluster, and on Enterprise 500 in a pool and any number in a cluster; on standard, the API accepts 1 to 100 in
// one request.
//
// Unverified: all these numbers.
func decisionPolicy(t loop.Timing, tier catalog.Tier) capacity.Policy {
	p := capacity.Policy{
		Grace: t.Grace, Keep: t.Keep, SlotTimeout: t.SlotTimeout, Quick: t.Quick, Idle: t.Idle,
		PoolSize: 100, ClusterSize: 250,
	}
	if tier == catalog.Enterprise {
		p.PoolSize, p.ClusterSize = 500, 0
	}
	return p
}

// Syncer keeps the node pools of one LKE cluster in line with the NodeClaims. It is level-triggered: each
// poll is one list of pools with every slot and instance of the cluster. Missing and surplus nodes follow
// from the list and the claims, so neither a lost answer nor a restart needs a journal.
//
// One loop decides. The calls for a group run concurrently with it, one work at a
// time for each group, so that a slow plan type delays no other.
type Syncer struct {
	cfg     SyncerConfig
	policy  capacity.Policy
	metrics *nodeclaim.Metrics // only the loop sets its gauges
	loop    *loop.Loop[capacity.Memory]
	events  hint // events about nodes that LKE could not create
	power   hint // whether machines that have not joined are offline

	list *loop.List[snapshot]

	mu     sync.Mutex
	builds map[string]substitute // by the refused version
}

// SyncerConfig configures a Syncer. Only Nodes, Roster and Timing are optional.
type SyncerConfig struct {
	API          API
	Cluster      api.Cluster
	ControlPlane *ControlPlane
	Claims       Claims
	Nodes        NodeList // nil means that no Node is registered
	Types        *instancetype.Set
	Roster       *Roster // nil if no admission policy reads it
	Timing       loop.Timing
	Log          *slog.Logger
}

// NewSyncer returns a Syncer for one cluster. Start runs it.
func NewSyncer(cfg SyncerConfig) *Syncer {
	tier := catalog.Tier(cfg.Cluster.Tier)
	if tier == catalog.Enterprise { // Cloud Manager says that nodes may take that long to be listed
		cfg.Timing.SlotTimeout = cmp.Or(cfg.Timing.SlotTimeout, 20*time.Minute)
	}
	cfg.Timing = cfg.Timing.WithDefaults()
	f := &Syncer{
		cfg: cfg, policy: decisionPolicy(cfg.Timing, tier), metrics: newMetrics(),
		loop:   loop.New[capacity.Memory](cfg.Log, cfg.Timing.Gather),
		events: hint{what: "events", scope: api.ScopeEvents},
		power:  hint{what: "Linodes", scope: api.ScopeReadInstances, every: 50 * time.Second},
		builds: map[string]substitute{},
	}
	f.list = loop.NewList[snapshot](cfg.Log, func(ctx context.Context) error {
		_, err := f.poll(api.LowPriority(ctx))
		return err
	})
	return f
}

// Wake requests a poll soon.
func (f *Syncer) Wake() { f.loop.Wake() }

// Release allows the deletion of a claim's machine, and reports whether it is gone: a list that was requested after
// the first call does not show it. The caller repeats the call until then.
func (f *Syncer) Release(uid string) (gone bool) {
	var first bool
	f.loop.Do(func(m *capacity.Memory, now time.Time) { first, gone = m.Release(uid, now) })
	if first {
		f.Wake()
	}
	return gone
}

// Assigned returns the machine of a claim, if this Syncer gave it one.
func (f *Syncer) Assigned(uid string) (instance int) {
	f.loop.Do(func(m *capacity.Memory, _ time.Time) { instance = m.Assigned(uid) })
	return instance
}

// Start keeps the pools in line with the claims until ctx ends, and returns when the pending calls have ended. It
// implements manager.Runnable.
func (f *Syncer) Start(ctx context.Context) error {
	f.loop.Run(ctx, f.pass)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: two Syncers of one cluster would both create the
// missing machines.
func (f *Syncer) NeedLeaderElection() bool { return true }

// pass polls once, carries out the decision, and returns when to poll again.
func (f *Syncer) pass(ctx context.Context) time.Duration {
	f.cfg.ControlPlane.refresh(ctx)
	shown, err := f.poll(ctx)
	if err != nil {
		return f.retryIn(ctx, err)
	}
	if f.cfg.Roster != nil {
		if err := f.cfg.Roster.write(ctx, shown.pools); err != nil && ctx.Err() == nil {
			f.cfg.Log.Error("could not write the roster of pools; the admission policy may miss new nodes", "error", err)
		}
	}
	view := capacity.View{
		Pools: poolsOf(shown.pools), Asked: shown.asked, Shown: shown.shown,
		Failures: f.failures(ctx), Offline: f.offline(ctx),
	}
	if view.Claims, err = f.cfg.Claims.List(ctx); err != nil {
		return f.retryIn(ctx, err)
	}
	if f.cfg.Nodes != nil {
		nodes, err := f.cfg.Nodes.List(ctx)
		if err != nil {
			return f.retryIn(ctx, err)
		}
		view.Nodes = nodesOf(nodes)
	}
	var decision capacity.Decision
	f.loop.Do(func(m *capacity.Memory, now time.Time) {
		decision = capacity.Decide(view, *m, f.policy, now)
		*m = decision.Memory
	})
	f.show(f.assigned(view))
	if len(decision.Binds) > 0 {
		f.loop.Go(func() { f.bind(ctx, decision.Binds, view.Claims) })
	}
	if len(decision.Lost) > 0 {
		f.loop.Go(func() { f.end(ctx, decision.Lost, whyGone) })
	}
	if len(decision.Offline) > 0 {
		f.loop.Go(func() { f.end(ctx, decision.Offline, whyOffline) })
	}
	if len(decision.Granted) > 0 {
		f.loop.Go(func() { f.extend(ctx, decision.Granted) })
	}
	f.drain(ctx, decision.Drains)
	f.reportKept(ctx, decision.Kept)
	f.warn(ctx, decision.Unseen, "MachineNotListed", "LKE no longer lists this node's Linode; the node stays as long as "+
		"it is ready, or as maintenance of its host explains that it is not")
	f.warn(ctx, decision.Full, "ClusterFull", fmt.Sprintf("the cluster has %d nodes, the maximum that LKE allows; the "+
		"NodeClaim waits until a node is removed", f.policy.ClusterSize))
	for _, work := range decision.Works {
		f.loop.Go(func() { f.act(ctx, work) })
	}
	return decision.PollIn
}

// retryIn logs why a pass ended early, and returns when to poll again.
func (f *Syncer) retryIn(ctx context.Context, err error) time.Duration {
	class := api.ClassOf(err)
	if ctx.Err() == nil {
		f.cfg.Log.Error("could not compare the pools with the NodeClaims", "class", class, "error", err)
	}
	if class == api.ClassAuth {
		return 15 * f.cfg.Timing.Quick // the token must be replaced first
	}
	return 2 * f.cfg.Timing.Quick
}

// assigned returns a view in which claims have the machines that were already assigned to them.
func (f *Syncer) assigned(view capacity.View) capacity.View {
	view.Claims = slices.Clone(view.Claims)
	f.loop.Do(func(m *capacity.Memory, _ time.Time) {
		for i := range view.Claims {
			if c := &view.Claims[i]; c.Instance == 0 {
				c.Instance = m.Assigned(c.UID)
			}
		}
	})
	return view
}

// bind writes the machines of claims, many at a time, because each needs few requests.
func (f *Syncer) bind(ctx context.Context, binds []capacity.Bind, claims []capacity.Claim) {
	asked := map[string]capacity.Claim{}
	for _, c := range claims {
		asked[c.UID] = c
	}
	_ = task.Each(f.cfg.Log, 32, binds, func(_ int, b capacity.Bind) error {
		err := f.loop.Try(func() error { return f.cfg.Claims.Bind(ctx, b) })
		f.loop.Do(func(m *capacity.Memory, now time.Time) { m.Bound(b, now) })
		if err != nil {
			f.cfg.Log.Error("could not bind a machine to its NodeClaim", "uid", b.UID, "instance", b.Instance, "error", err)
			f.Wake() // the next decision waits for it, and stores it again
			return nil
		}
		claim, waited := asked[b.UID], time.Since(asked[b.UID].Created)
		f.metrics.Bound(claim.Group.Plan, waited)
		f.cfg.Log.Info("machine bound", "nodeclaim", claim.Name, "uid", b.UID, "instance", b.Instance,
			"plan", claim.Group.Plan, "nodepool", claim.Group.NodePool, "waited", waited.Round(time.Second).String())
		return nil
	})
}

// extend gives claims for which LKE has granted a slot more than the 15 minutes that Karpenter allows until a Node
// registers: on Enterprise it can take longer until the slot is listed. SlotTimeout limits how long the slot may
// take.
func (f *Syncer) extend(ctx context.Context, granted []string) {
	f.each(ctx, granted, "give a NodeClaim more time to register", func(uid string) error {
		return f.cfg.Claims.Extend(ctx, uid)
	})
}

// each calls do for several NodeClaims at a time, and logs errors.
func (f *Syncer) each(ctx context.Context, uids []string, what string, do func(uid string) error) {
	_ = task.Each(f.cfg.Log, 8, uids, func(_ int, uid string) error {
		if err := do(uid); err != nil && ctx.Err() == nil {
			f.cfg.Log.Error("could not "+what, "uid", uid, "error", err)
		}
		return nil
	})
}

// Reasons why machines are lost.
const (
	whyGone = "LKE no longer has this node's Linode: LKE has replaced it, it was deleted outside lkeplan, or the count " +
		"of its node pool was lowered"
	whyOffline = "this node's Linode has been offline for five minutes and has never become a Node: LKE has not booted " +
		"it, or it was powered off; it is deleted and replaced"
)

// end deletes the claims whose machine is lost, so that Karpenter creates new ones.
func (f *Syncer) end(ctx context.Context, lost []string, why string) {
	f.each(ctx, lost, "end a NodeClaim whose machine is lost", func(uid string) error {
		return f.cfg.Claims.Lose(ctx, uid, f.Assigned(uid), why)
	})
}
