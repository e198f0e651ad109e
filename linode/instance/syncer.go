package instance

// A syncer carries out the decisions of package decide at Linode and in the cluster. It reads the state,
// calls Decide, sends the calls and records their results. It does not wait for calls before the next round,
// so a slow plan type does not delay others. It repeats no call: the next decision does that.

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/loop"
)

// linodes is the part of the Linode API that the syncer uses; *api.Client implements it.
type linodes interface {
	Instances(ctx context.Context, tag string) ([]api.Instance, error)
	Instance(ctx context.Context, id int) (api.Instance, error)
	InstanceLabelled(ctx context.Context, label string) (api.Instance, bool, error)
	CreateInstance(ctx context.Context, spec api.InstanceSpec) (api.Instance, error)
	DeleteInstance(ctx context.Context, id int) error
}

// claimStore reads and writes the API server.
type claimStore interface {
	// Look returns the claims, and the registered Nodes by machine. Both may come from a cache, but a claim that
	// still exists and was returned before must not be missing.
	Look(ctx context.Context) ([]decide.Claim, map[int]decide.Node, error)
	// Spec returns the spec of a claim's machine, without the label and the cluster's tag. It must always be the
	// same for one claim.
	Spec(ctx context.Context, uid string) (api.InstanceSpec, error)
	// Bind stores a machine on a claim that has none.
	Bind(ctx context.Context, b decide.Bind) error
	// InUse reads live. It reports whether there is a claim that has this machine or its label, and whether a
	// registered Node runs on the machine.
	InUse(ctx context.Context, machine int, label string) (owned, inhabited bool, err error)
	// Drain deletes the Node of a machine that no claim owns, so that it is drained.
	Drain(ctx context.Context, d decide.Drain) error
	// End deletes a claim. Unless the reason is Lost, it first reads the claim live and deletes it only if it
	// still has no machine.
	End(ctx context.Context, uid string, why Reason) error
	// Keep reports a machine with pods that stays without a claim.
	Keep(machine int)
	// Listed receives each list, and when it was requested.
	Listed(asked time.Time, all []api.Instance)
	// Refused receives the reason why the machine of a claim was not created.
	Refused(ctx context.Context, uid string, err error)
	// Undeleted receives the reason why a machine was not deleted.
	Undeleted(ctx context.Context, order decide.Delete, err error)
	// WarnUnconfirmed receives the claims that stay although their machines are gone according to Linode.
	WarnUnconfirmed(ctx context.Context, uids []string) error
	// Queued receives the claims that only wait for the rate limit of new Linodes.
	Queued(ctx context.Context, uids []string) error
}

// Reason is why a claim is deleted.
type Reason string

// The reasons to delete a claim.
const (
	Lost       Reason = "its machine is gone"
	Taken      Reason = "another Linode in the account has its label"
	OutOfStock Reason = "its plan type is out of stock"
)

// syncerConfig configures a syncer.
type syncerConfig struct {
	Linode  linodes
	Cluster claimStore
	Policy  decide.Policy
	Tag     string // all machines of the cluster have it, and no other Linode
	Log     *slog.Logger
}

// syncer runs the rounds. It is safe for concurrent use.
type syncer struct {
	cfg           syncerConfig
	loop          *loop.Loop[decide.Memory]
	makes, others chan struct{} // semaphores for simultaneous calls
	underway      sync.Map      // pending calls that the Memory does not track
}

// callsAtOnce is the largest number of simultaneous calls that create no machine. The calls that create machines
// are limited by Policy.Burst.
const callsAtOnce = 8

// newSyncer returns a syncer with an empty Memory, as after a restart.
func newSyncer(cfg syncerConfig) *syncer {
	return &syncer{
		cfg: cfg, loop: loop.New[decide.Memory](cfg.Log, cfg.Policy.Quick),
		makes: make(chan struct{}, max(1, cfg.Policy.Burst)), others: make(chan struct{}, callsAtOnce),
	}
}

// afterError is the pause after a round that failed.
const afterError = 10 * time.Second

// Run runs rounds until ctx ends, and returns when the last call has ended.
func (c *syncer) Run(ctx context.Context) {
	c.loop.Run(ctx, func(ctx context.Context) time.Duration {
		next, err := c.Step(ctx)
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Warn("machines are not compared with claims", "error", err)
		}
		return next
	})
}

// Release records that the machine of a claim may be deleted, and reports whether it is certainly gone.
func (c *syncer) Release(uid string) (gone bool) {
	c.loop.Do(func(m *decide.Memory, now time.Time) { gone = m.Release(uid, now) })
	if !gone {
		c.loop.Wake()
	}
	return gone
}

// Step runs one round and starts its calls. It returns when the next round is due.
func (c *syncer) Step(ctx context.Context) (time.Duration, error) {
	view, err := c.readView(ctx)
	if err != nil {
		return afterError, err
	}
	var d decide.Decision
	c.loop.Do(func(m *decide.Memory, now time.Time) {
		d = decide.Decide(view, *m, c.cfg.Policy, now)
		*m = d.Memory
	})
	if len(d.Queued) > 0 {
		c.cfg.Log.Info("more machines are wanted than the rate limit of new Linodes allows", "waiting", len(d.Queued),
			"last_in", d.Queue.String())
		c.once(ctx, "say which claims wait for the rate limit", func(ctx context.Context) error {
			return c.cfg.Cluster.Queued(ctx, d.Queued)
		})
	}
	if len(d.Unconfirmed) > 0 {
		c.once(ctx, "warn of claims that are not confirmed", func(ctx context.Context) error { return c.cfg.Cluster.WarnUnconfirmed(ctx, d.Unconfirmed) })
	}
	c.carryOut(ctx, view, d)
	return d.PollIn, nil
}

// readView lists Linodes before claims, so that the list cannot lack a machine that is stored on a claim.
func (c *syncer) readView(ctx context.Context) (decide.View, error) {
	view := decide.View{Asked: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	instances, err := c.cfg.Linode.Instances(ctx, c.cfg.Tag)
	if err != nil {
		return view, err
	}
	c.cfg.Cluster.Listed(view.Asked, instances)
	for _, i := range instances {
		view.Machines = append(view.Machines, decide.Machine{ID: i.ID, Label: i.Label})
	}
	if view.Claims, view.Nodes, err = c.cfg.Cluster.Look(ctx); err != nil {
		return view, fmt.Errorf("look at claims: %w", err)
	}
	return view, nil
}
