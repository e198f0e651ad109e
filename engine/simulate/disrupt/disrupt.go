// Package disrupt finds out what Karpenter does next to the nodes that there are: which
// go because they are empty, which because they differ from their pool, which because fewer
// or cheaper ones do, and what takes their place.
//
// The methods are Karpenter's own (its package disruption), over a client in memory and
// its own cluster state: who is a candidate, what budgets, PodDisruptionBudgets and
// do-not-disrupt allow, the packing and the prices. Its controller and its queue do not
// run, for they write to the cluster, and wait: the order in which they try the methods
// is repeated here, and the caller carries out the command. Three things differ from
// a cluster, each for the same answer each time:
//
//   - Commands are carried out one after the other; in a cluster some overlap.
//   - Karpenter takes a command back where the cluster has changed 15 seconds later. Here
//     it has not, and no time passes.
//   - Candidates are taken in the order of their names where they do equally well, and
//     pools in that of theirs. Karpenter's order is that of a map.
//
// Time is only what the schedules of budgets make of it: where nothing goes at a moment,
// the next one is tried at which a budget begins or ends.
package disrupt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
)

// Cluster is a cluster in memory.
type Cluster struct {
	Client   client.Client
	Provider cloudprovider.CloudProvider
	State    *state.Cluster // with the same clock
	Clock    *Clock
	// Prices are what all nodes of each pool cost, as offerings have it.
	Prices map[string]float64
	// Except reports nodes whose replacement was tried and not to be had, by the kind of
	// the command.
	Except func(kind Kind, node string) bool
}

// Kind is how Karpenter finds what goes.
type Kind string

// The kinds of commands, in the order in which they are tried.
const (
	Empty       Kind = "empty"        // nodes without pods
	StaticDrift Kind = "static_drift" // a node of a static pool that differs from it
	Drift       Kind = "drift"        // a node that differs from its pool, for as many as its pods need
	Multi       Kind = "multi"        // several nodes, for none or one that is cheaper
	Single      Kind = "single"       // one node, for none or one that is cheaper
)

// Replicas is no command: nodes come and go at once where a static pool has another number
// of them.
const Replicas Kind = "replicas"

// Command is what Karpenter does next.
type Command struct {
	disruption.Command
	Kind   Kind
	Reason karpv1.DisruptionReason
}

// Found is what Next has found.
type Found struct {
	Command *Command // nil where nothing goes any more
	Blocked Blocked  // why nodes stay, where nothing goes
	Slow    bool     // Karpenter has given up a search after a minute: another run may find more
}

// Next finds the next command, now or when a budget next lets some node go.
func (c Cluster) Next(ctx context.Context) (Found, error) {
	blocked := Blocked{Nodes: map[string]string{}, Pools: map[string]bool{}}
	pools := &karpv1.NodePoolList{}
	if err := c.Client.List(ctx, pools); err != nil {
		return Found{}, err
	}
	slow := false
	for now := range budgetChanges(pools.Items, c.Clock.Now()) {
		c.Clock.now = now
		r := c.round(blocked)
		command, err := r.next(ctx)
		slow = slow || r.slow
		if err != nil || command != nil {
			return Found{Command: command, Slow: slow}, err
		}
	}
	return Found{Blocked: blocked, Slow: slow}, nil
}

// Present finds the next command at the moment that the clock shows.
func (c Cluster) Present(ctx context.Context) (Found, error) {
	blocked := Blocked{Nodes: map[string]string{}, Pools: map[string]bool{}}
	r := c.round(blocked)
	command, err := r.next(ctx)
	return Found{Command: command, Blocked: blocked, Slow: r.slow}, err
}

// round is one turn of Karpenter's disruption controller.
type round struct {
	Cluster
	blocked     Blocked
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
	slow        bool
}

func (c Cluster) round(blocked Blocked) *round {
	r := &round{Cluster: c, blocked: blocked}
	r.provisioner = provisioning.NewProvisioner(c.Client, blocked, c.Provider, c.State, c.Clock, nil, nil)
	r.queue = disruption.NewQueue(c.Client, blocked, c.State, c.Clock, r.provisioner)
	return r
}

// next tries the methods as Karpenter does.
func (r *round) next(ctx context.Context) (*Command, error) {
	for _, kind := range []Kind{Empty, StaticDrift, Drift, Multi, Single} {
		command, err := r.try(ctx, kind)
		if err != nil || command != nil {
			return command, err
		}
	}
	return nil, nil
}

// method makes one of Karpenter's methods; each remembers that it has found nothing.
func (r *round) method(kind Kind) disruption.Method {
	shared := disruption.MakeConsolidation(r.Clock, r.State, r.Client, r.provisioner, r.Provider, r.blocked, r.queue)
	switch kind {
	case Empty:
		return disruption.NewEmptiness(shared, disruption.WithValidator(unchanged{}))
	case StaticDrift:
		return disruption.NewStaticDrift(r.State, r.provisioner, r.Provider)
	case Drift:
		return disruption.NewDrift(r.Client, r.State, r.provisioner, r.blocked, r.Clock)
	case Multi:
		return disruption.NewMultiNodeConsolidation(shared, disruption.WithValidator(unchanged{}))
	default:
		return disruption.NewSingleNodeConsolidation(shared, disruption.WithValidator(unchanged{}))
	}
}

// try has one method find a command.
func (r *round) try(ctx context.Context, kind Kind) (*Command, error) {
	method := r.method(kind)
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, r.State, r.Client, r.blocked, r.Clock, r.Provider,
		method.ShouldDisrupt, method.Class(), r.queue, nil)
	if err != nil {
		return nil, fmt.Errorf("find candidates: %w", err)
	}
	candidates = slices.DeleteFunc(candidates, func(c *disruption.Candidate) bool { return r.Except(kind, c.Name()) })
	slices.SortFunc(candidates, func(a, b *disruption.Candidate) int { return cmp.Compare(a.Name(), b.Name()) })
	for pool, total := range totals {
		total.TotalCost = r.Prices[pool]
		totals[pool] = total
	}
	groups := [][]*disruption.Candidate{candidates}
	if single, ok := method.(*disruption.SingleNodeConsolidation); ok {
		groups = inTurn(ctx, single, candidates)
	}
	if kind == StaticDrift { // of several pools it takes one at random
		groups = byPool(candidates)
	}
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		command, err := r.compute(ctx, kind, totals, group)
		if err != nil || command != nil {
			return command, err
		}
	}
	return nil, nil
}

// compute has a method decide on candidates.
func (r *round) compute(
	ctx context.Context, kind Kind, totals map[string]disruption.NodePoolTotals, candidates []*disruption.Candidate,
) (*Command, error) {
	method := r.method(kind)
	if balancing, ok := method.(disruption.NodePoolTotalsSetter); ok {
		balancing.SetNodePoolTotals(totals)
	}
	allowed, err := disruption.BuildDisruptionBudgetMapping(ctx, r.State, r.Clock, r.Client, r.Provider, r.blocked,
		method.Reason())
	if err != nil {
		return nil, fmt.Errorf("read budgets: %w", err)
	}
	began := time.Now()
	commands, err := method.ComputeCommands(ctx, allowed, candidates...)
	r.slow = r.slow || time.Since(began) >= disruption.MultiNodeConsolidationTimeoutDuration
	if err != nil {
		return nil, err
	}
	for _, command := range commands {
		if command.Decision() != disruption.NoOpDecision {
			return &Command{Command: command, Kind: kind, Reason: method.Reason()}, nil
		}
	}
	return nil, nil
}

// byPool has the candidates of one pool after those of the other.
func byPool(candidates []*disruption.Candidate) (groups [][]*disruption.Candidate) {
	at := map[string]int{}
	for _, c := range candidates {
		i, known := at[c.NodePool.Name]
		if !known {
			i = len(groups)
			at[c.NodePool.Name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// inTurn has candidates one by one, in Karpenter's order: of each pool its best one, then
// of each its next.
func inTurn(
	ctx context.Context, method *disruption.SingleNodeConsolidation, candidates []*disruption.Candidate,
) (groups [][]*disruption.Candidate) {
	byPool := map[string][]*disruption.Candidate{}
	var pools []string
	for _, c := range candidates {
		if byPool[c.NodePool.Name] == nil {
			pools = append(pools, c.NodePool.Name)
		}
		byPool[c.NodePool.Name] = append(byPool[c.NodePool.Name], c)
	}
	slices.Sort(pools)
	for pool, list := range byPool {
		byPool[pool] = method.SortCandidates(ctx, list)
	}
	for i := range candidates {
		for _, pool := range pools {
			if i < len(byPool[pool]) {
				groups = append(groups, byPool[pool][i:i+1])
			}
		}
	}
	return groups
}

// unchanged finds that a command is as valid as when it was found.
type unchanged struct{}

// Validate implements disruption.Validator.
func (unchanged) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// Clock is the time in the cluster.
type Clock struct {
	clock.RealClock
	now time.Time
}

// NewClock is a clock that stands at a Monday, long after any node was made.
func NewClock() *Clock { return &Clock{now: time.Date(2100, time.January, 4, 0, 0, 0, 0, time.UTC)} }

// ClockAt is a clock that stands at a time.
func ClockAt(t time.Time) *Clock { return &Clock{now: t} }

// Set has the clock stand at another time.
func (c *Clock) Set(t time.Time) { c.now = t }

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }
