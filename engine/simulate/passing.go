package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/podset"
	"github.com/lkeplan/lkeplan/engine/simulate/settling"
)

// MostTurns bounds at how many moments between two others Karpenter is asked what it would
// do: schedules of budgets may begin each minute.
const MostTurns = 500

// Pass lets time go by. It stops at the limit, and before that whenever pods without a node
// have got one, or nodes have come or gone; whoever calls goes on then. It returns false when
// it has come to the limit.
func (c *Course) Pass(ctx context.Context, limit time.Time) (more bool, err error) {
	ctx = settings(ctx)
	for range MostTurns {
		if gone, err := c.expire(ctx); gone || err != nil {
			return true, err
		}
		c.ripenAll()
		if c.open {
			done, err := c.act(ctx, limit)
			if done || err != nil {
				return c.Now().Before(limit), err
			}
		}
		next := c.nextTurn(limit)
		c.now.Set(next)
		if !next.Before(limit) {
			return false, nil
		}
	}
	c.note("More happens between two times than can be simulated: what is left of it is skipped.")
	c.now.Set(limit)
	return false, nil
}

// act has Karpenter do what it would do now, and reports whether it does something.
func (c *Course) act(ctx context.Context, limit time.Time) (done bool, err error) {
	settling.Allow(c.store.Budgets, c.pods)
	c.store.Bound[""] = slices.Clone(c.waiting()) // pods are taken off it in place
	for _, pod := range c.pods {
		if pod.Spec.NodeName != "" { // do-not-disrupt may be for a time after that
			pod.Status.StartTime = ptr.To(metav1.NewTime(c.born[pod.UID]))
		}
	}
	cluster, err := c.cluster(ctx)
	if err != nil {
		return false, err
	}
	found, err := settling.Cluster{
		Client: c.store, Provider: c.provider, State: cluster, Clock: c.now, Prices: c.prices(),
		Except: func(kind settling.Kind, node string) bool { return c.stuck[stuckAs(kind, node)] != "" },
	}.Present(ctx)
	if err != nil {
		return false, fmt.Errorf("have Karpenter consolidate: %w", err)
	}
	c.slow = c.slow || found.Slow
	if found.Command == nil {
		c.open = false
		return false, nil
	}
	before, steps := slices.Clone(c.made), len(c.out.Steps)
	if err := c.carryOut(ctx, found.Command); err != nil {
		return false, err
	}
	if len(c.out.Steps) == steps { // what would take its place is not to be had, and is not tried again
		return true, nil
	}
	if err := c.settleDown(ctx); err != nil {
		return false, err
	}
	end := c.Now().Add(StepTime)
	c.away(before, end, string(found.Command.Reason))
	c.now.Set(earlier(end, limit))
	return true, nil
}

// away tells of the nodes that there are no more since a moment before.
func (c *Course) away(before []*made, at time.Time, reason string) {
	for _, m := range before {
		if !slices.Contains(c.made, m) {
			c.tell(m)
			c.told = append(c.told, c.event(m, at, false, reason))
			delete(c.quiet, m.node)
		}
	}
}

// expire removes the nodes whose expireAfter has come, whatever budgets say; their pods get
// other nodes.
func (c *Course) expire(ctx context.Context) (gone bool, err error) {
	var old []*made
	for _, m := range c.made {
		if end := expiry(m); !end.IsZero() && !end.After(c.Now()) {
			old = append(old, m)
		}
	}
	if len(old) == 0 {
		return false, nil
	}
	before := slices.Clone(c.made)
	if _, err := c.move(ctx, old, map[types.UID]string{}); err != nil {
		return false, err
	}
	for _, m := range old {
		if m.static {
			if err := c.replaceStatic(ctx, m); err != nil {
				return false, err
			}
		}
	}
	if err := c.settleDown(ctx); err != nil {
		return false, err
	}
	c.open = true
	c.away(before, c.Now().Add(StepTime), "Expired")
	return true, nil
}

// expiry is when a node has to go; the zero time where it never has to.
func expiry(m *made) time.Time {
	if after := m.claim.Spec.ExpireAfter.Duration; after != nil {
		return m.claim.CreationTimestamp.Add(*after)
	}
	return time.Time{}
}

// replaceStatic makes another node of a static pool.
func (c *Course) replaceStatic(ctx context.Context, m *made) error {
	for _, pool := range c.static {
		if pool.Name == m.pool() {
			_, why, err := c.makeNode(ctx, claimOf(pool), true)
			if why != "" {
				c.note("Pool %s gets no other node for one that has expired: %s", pool.Name, why)
			}
			return err
		}
	}
	return nil
}

// ripenAll gives nodes what they have once they are there, and lets those be consolidated
// where no pod has come or gone for so long as their pool says.
func (c *Course) ripenAll() {
	for _, m := range c.made {
		c.ripen(m)
		s, end := c.quiet[m.node], c.ripens(m)
		m.claim.Status.LastPodEventTime = metav1.NewTime(s.since) // pods are not moved to nodes that are not ripe
		ripe := !end.IsZero() && !end.After(c.Now())
		if ripe && !s.ripe {
			c.open = true
		}
		if s.ripe = ripe; ripe {
			m.claim.StatusConditions().SetTrue(karpv1.ConditionTypeConsolidatable)
		} else {
			_ = m.claim.StatusConditions().Clear(karpv1.ConditionTypeConsolidatable) // no condition that Ready follows from
		}
	}
}

// ripens is when consolidateAfter has passed for a node; the zero time where that is never.
func (c *Course) ripens(m *made) time.Time {
	pool := c.store.Pools[m.pool()]
	if pool == nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil {
		return time.Time{}
	}
	return c.quiet[m.node].since.Add(*pool.Spec.Disruption.ConsolidateAfter.Duration)
}

// nextTurn is when something may happen next, at most the limit.
func (c *Course) nextTurn(limit time.Time) time.Time {
	now, next := c.Now(), limit
	for _, m := range c.made {
		for _, at := range []time.Time{c.ripens(m), expiry(m)} {
			if at.After(now) && at.Before(next) {
				next = at
			}
		}
	}
	if turn := settling.Turn(c.dynamic, now, next); turn.Before(next) {
		next, c.open = turn, true
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// doubts notes what of a workload is not as in a cluster.
func (w *world) doubts(load Workload) {
	if load.Pod.Spec.NodeName != "" {
		w.note("%s names the node that it wants, which is ignored.", load.Name)
	}
	if key := podset.Chance(load.Pod.Spec); key != "" {
		w.note("%s is placed by %s, and of values that do equally well Karpenter takes one at random: another run may "+
			"have other nodes.", load.Name, key)
	}
}
