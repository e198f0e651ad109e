package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

// delayed is a method of Karpenter that leaves the nodes of a pool alone for some time after a replacement of one of them has
// failed, longer each time (kubernetes-sigs/karpenter#3080, #3178).
//
// Without it, Karpenter v1.15.0 selects the same node again and again if the API server refuses its replacement, for example
// because of an admission policy. Each time the round ends with an error: the rest of this method and all later methods do not
// run, and the next round is up to 17 minutes later. In TestPoolThatGetsNoReplacementDoesNotDelayOthers, 16 rounds in three
// minutes replaced no node of any pool. If the replacement is out of stock or never joins, the command uses the budget of its
// pool, so that the nodes of other pools are replaced even without this back-off.
//
// Karpenter does not report failures to a method. But a node for which it was given a command is a candidate again only if
// the command has failed.
//
// While disruption is stopped, it finds no commands. Karpenter's validation of a command takes 15 seconds. So it asks again
// when Karpenter has found commands, which Karpenter then starts at once.
type delayed struct {
	disruption.Method
	clock  clock.PassiveClock
	brake  brake
	issued map[types.UID]time.Time // when a command for a NodeClaim was returned
	pools  map[string]delay        // by name
}

type delay struct {
	failures int
	until    time.Time
}

func newDelayed(method disruption.Method, clk clock.PassiveClock, stops brake) *delayed {
	return &delayed{method, clk, stops, map[types.UID]time.Time{}, map[string]delay{}}
}

// longestCommand is how long Karpenter waits for replacements at most (karpenter v1.15.0, maxRetryDuration).
const longestCommand = time.Hour

var _ disruption.NodePoolTotalsSetter = (*delayed)(nil)

// SetNodePoolTotals implements disruption.NodePoolTotalsSetter.
func (d *delayed) SetNodePoolTotals(totals map[string]disruption.NodePoolTotals) {
	if balanced, ok := d.Method.(disruption.NodePoolTotalsSetter); ok {
		balanced.SetNodePoolTotals(totals)
	}
}

// ShouldDisrupt implements disruption.Method.
func (d *delayed) ShouldDisrupt(ctx context.Context, c *disruption.Candidate) bool {
	return !d.brake.state(ctx).Stopped() && d.Method.ShouldDisrupt(ctx, c)
}

// ComputeCommands implements disruption.Method. Karpenter calls it in one goroutine.
func (d *delayed) ComputeCommands(ctx context.Context, budgets map[string]int, candidates ...*disruption.Candidate,
) ([]disruption.Command, error) {
	now := d.clock.Now()
	failed := map[string]bool{}
	for _, c := range candidates {
		if _, again := d.issued[c.NodeClaim.UID]; again {
			delete(d.issued, c.NodeClaim.UID)
			failed[c.NodePool.Name] = true
		}
	}
	for pool := range failed {
		was := d.pools[pool]
		if now.Sub(was.until) > longestCommand {
			was.failures = 0
		}
		wait := min(shortestDelay<<min(was.failures, 10), longestDelay)
		d.pools[pool] = delay{was.failures + 1, now.Add(wait)}
	}
	for uid, at := range d.issued {
		if now.Sub(at) > 2*longestCommand {
			delete(d.issued, uid)
		}
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(c *disruption.Candidate) bool {
		return now.Before(d.pools[c.NodePool.Name].until)
	})
	if d.brake.state(ctx).Stopped() { // since ShouldDisrupt
		return nil, nil
	}
	commands, err := d.Method.ComputeCommands(ctx, budgets, candidates...)
	if len(commands) > 0 && d.brake.stopped(ctx) != nil {
		return nil, err
	}
	for _, command := range commands {
		for _, c := range command.Candidates {
			d.issued[c.NodeClaim.UID] = now
		}
	}
	return commands, err
}
