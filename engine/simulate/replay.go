package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// replay is a cluster in memory whose pods come and go as time goes on, and whose nodes
// live on in between: Karpenter makes them for pods, and removes them when consolidateAfter
// has passResult, budgets allow it, or expireAfter has come.
//
// A step of Karpenter takes StepTime: what goes is there until then, and what takes its place
// from the beginning.
type replay struct {
	consolidation
	ledger Ledger
	lives  map[string]int // by node, its place in the ledger
	waited time.Duration  // of all pods together

	loads   map[string]int          // the workload of each kind of pods
	created map[types.UID]time.Time // of pods
	idle    map[string]*idle        // by node
	open    bool                    // something has changed since Karpenter last found nothing to do
	events  []event                 // since the last moment
	last    Pods                    // the last one
	begun   map[string]bool         // nodes with an event of their beginning
}

// idle is since when no pod has come to a node or has left it.
type idle struct {
	pods  string // those that are on it
	since time.Time
	ripe  bool // consolidateAfter has passed
}

// StepTime is how long a step of Karpenter takes: machines of LKE are nodes after some two
// minutes, and the pods move then.
const StepTime = 3 * time.Minute

// event is a node that is made, or is gone.
type event struct {
	at     time.Time
	node   NodeRef
	made   bool
	price  catalog.Price
	reason string // why it goes, in the words of budgets
}

// newReplay is a replay with the pools of an input from a time on. The nodes of static pools are
// there, and no pods.
func newReplay(ctx context.Context, in Input, at time.Time) (*replay, error) {
	if in.Region == "" {
		return nil, errNoRegion
	}
	linode.Register()
	in.Pods = Pods{}
	w, err := newCluster(ctx, in)
	if err != nil {
		return nil, err
	}
	clock := disrupt.ClockAt(at)
	w.clock, w.many = clock, manyPods
	for _, pool := range w.dynamic {
		ready(pool)
	}
	c := &replay{
		consolidation: consolidation{cluster: w, now: clock, stuck: map[string]string{}, out: &Consolidated{}, timed: true},
		lives:         map[string]int{}, loads: map[string]int{}, created: map[types.UID]time.Time{},
		idle: map[string]*idle{}, begun: map[string]bool{},
	}
	return c, w.makeStatic(ctx, nil)
}

// allNotes are what is not simulated, or not as in a cluster.
func (c *replay) allNotes() []string {
	notes := slices.Clone(c.notes)
	for _, s := range c.shortfalls {
		notes = append(notes, fmt.Sprintf("Pool %s gets %d of %d nodes: %s", s.Pool, s.Made, s.Wanted, s.Text))
	}
	if c.slow {
		notes = append(notes, slowNote)
	}
	return notes
}

// newEvents are the nodes that were made and are gone since the last call, in order.
func (c *replay) newEvents() []event {
	for _, m := range c.made {
		c.begin(m)
	}
	events := c.events
	c.events = nil
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	return events
}

// begin adds the event that a node was made, once.
func (c *replay) begin(m *simNode) {
	if !c.begun[m.node] {
		c.begun[m.node] = true
		c.events = append(c.events, c.event(m, m.claim.CreationTimestamp.Time, true, ""))
	}
}

func (c *replay) event(m *simNode, at time.Time, made bool, reason string) event {
	return event{at, m.ref(), made, c.types.Price(m.plan()), reason}
}

// changePods makes the pods others: of each kind as many as there are to be. Of a kind of which
// there are fewer, those leave first that have no node, then one after the other from the
// node that has the most of them. Those that have come get nodes.
func (c *replay) changePods(ctx context.Context, to Pods) error {
	c.daemons, c.store.Sets, c.store.Budgets = nil, nil, to.Budgets
	c.addDaemonSets(to.DaemonSets)
	wanted, err := c.wanted(to.Workloads)
	if err != nil {
		return err
	}
	had := make([][]*corev1.Pod, len(c.workloads))
	for _, pod := range c.pods {
		had[c.of[pod.UID]] = append(had[c.of[pod.UID]], pod)
	}
	var leave, come []*corev1.Pod
	for i := range c.workloads {
		if n := len(had[i]) - wanted[i]; n > 0 {
			leave = append(leave, firstToLeave(had[i], n)...)
		}
		for range wanted[i] - len(had[i]) {
			pod := c.newPod(pendingPod(c.workloads[i].Pod), i)
			c.created[pod.UID] = c.now.Now()
			come = append(come, pod)
		}
	}
	c.open = c.open || len(leave)+len(come)+len(c.pending) > 0 || !equality.Semantic.DeepEqual(c.last, to)
	c.last = to
	c.remove(leave)
	for _, pod := range leave {
		delete(c.of, pod.UID)
		delete(c.created, pod.UID)
	}
	c.pods, c.pending = append(c.pods, come...), append(c.pending, come...)
	c.stuck = map[string]string{}
	return c.findNodes(ctx)
}

// wanted is how many pods of each kind there are to be.
func (c *replay) wanted(loads []Workload) (wanted map[int]int, err error) {
	wanted = map[int]int{}
	asked := 0
	for _, load := range loads {
		if asked += load.Pods; asked > MaxPods {
			return nil, fmt.Errorf("more than %d pods cannot be simulated", MaxPods)
		}
		raw, err := json.Marshal([]any{load.Pod, load.Barred, load.Volumes})
		if err != nil {
			return nil, fmt.Errorf("read the pods of %s: %w", load.Name, err)
		}
		key := load.Name + "\x00" + string(raw)
		i, known := c.loads[key]
		if !known {
			i = len(c.workloads)
			c.loads[key] = i
			load.Name = plain(load.Name)
			c.workloads = append(c.workloads, load)
			c.doubts(load)
		}
		wanted[i] += load.Pods
	}
	return wanted, nil
}

// findNodes finds nodes for the pods that wait, and notes which nodes are new and where pods
// have come and gone.
func (c *replay) findNodes(ctx context.Context) (err error) {
	if c.pending, err = c.place(ctx, c.pending); err != nil {
		return err
	}
	for _, m := range c.made {
		if m.claim.CreationTimestamp.IsZero() {
			m.claim.CreationTimestamp = metav1.NewTime(c.now.Now())
		}
		pods := ""
		for _, pod := range c.store.Bound[m.node] {
			pods += string(pod.UID) + " "
		}
		if s := c.idle[m.node]; s == nil || s.pods != pods {
			c.idle[m.node] = &idle{pods: pods, since: c.now.Now()}
			c.open = true
		}
	}
	return nil
}

// mostTurns bounds at how many moments between two others Karpenter is asked what it would
// do: schedules of budgets may begin each minute.
const mostTurns = 500

// advance lets time go by. It stops at the limit, and before that whenever pods without a node
// have got one, or nodes have come or gone; the caller continues then. It returns false when
// it has come to the limit.
func (c *replay) advance(ctx context.Context, limit time.Time) (more bool, err error) {
	ctx = settings(ctx)
	for range mostTurns {
		if gone, err := c.expire(ctx); gone || err != nil {
			return true, err
		}
		c.ripenAll()
		if c.open {
			done, err := c.act(ctx, limit)
			if done || err != nil {
				return c.now.Now().Before(limit), err
			}
		}
		next := c.nextTurn(limit)
		c.now.Set(next)
		if !next.Before(limit) {
			return false, nil
		}
	}
	c.note("Too many steps between two times: the rest is skipped.")
	c.now.Set(limit)
	return false, nil
}

// act has Karpenter do what it would do now, and reports whether it does something.
func (c *replay) act(ctx context.Context, limit time.Time) (done bool, err error) {
	waiting := slices.Clone(c.waiting()) // pods are taken off it in place
	for _, pod := range c.pods {
		if pod.Spec.NodeName != "" { // do-not-disrupt may be for a time after that
			pod.Status.StartTime = ptr.To(metav1.NewTime(c.created[pod.UID]))
		}
	}
	shown, err := c.shown(ctx, waiting)
	if err != nil {
		return false, err
	}
	found, err := shown.Present(ctx)
	if err != nil {
		return false, fmt.Errorf("simulate consolidation: %w", err)
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
	if len(c.out.Steps) == steps { // a replacement is unavailable, and is not tried again
		return true, nil
	}
	if err := c.findNodes(ctx); err != nil {
		return false, err
	}
	end := c.now.Now().Add(StepTime)
	c.end(before, end, string(found.Command.Reason))
	if end.After(limit) {
		end = limit
	}
	c.now.Set(end)
	return true, nil
}

// end adds the events of the nodes that are gone since a moment before.
func (c *replay) end(before []*simNode, at time.Time, reason string) {
	for _, m := range before {
		if !slices.Contains(c.made, m) {
			c.begin(m)
			c.events = append(c.events, c.event(m, at, false, reason))
			delete(c.idle, m.node)
		}
	}
}

// expire removes the nodes whose expireAfter has come, regardless of budgets; their pods get
// other nodes.
func (c *replay) expire(ctx context.Context) (gone bool, err error) {
	var old []*simNode
	for _, m := range c.made {
		if end := expiry(m); !end.IsZero() && !end.After(c.now.Now()) {
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
	if err := c.findNodes(ctx); err != nil {
		return false, err
	}
	c.open = true
	c.end(before, c.now.Now().Add(StepTime), "Expired")
	return true, nil
}

// expiry is when a node has to go; the zero time where it never has to.
func expiry(m *simNode) time.Time {
	if after := m.claim.Spec.ExpireAfter.Duration; after != nil {
		return m.claim.CreationTimestamp.Add(*after)
	}
	return time.Time{}
}

func (c *replay) replaceStatic(ctx context.Context, m *simNode) error {
	for _, pool := range c.static {
		if pool.Name == m.pool() {
			_, why, err := c.makeNode(ctx, claimOf(pool), true)
			if why != "" {
				c.note("Pool %s gets no replacement for an expired node: %s", pool.Name, why)
			}
			return err
		}
	}
	return nil
}

// ripenAll gives nodes what they have once they are there, and lets those be consolidated
// where no pod has come or gone for so long as their pool says.
func (c *replay) ripenAll() {
	for _, m := range c.made {
		c.ripen(m)
		s, end := c.idle[m.node], c.ripens(m)
		m.claim.Status.LastPodEventTime = metav1.NewTime(s.since) // pods are not moved to nodes that are not ripe
		ripe := !end.IsZero() && !end.After(c.now.Now())
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
func (c *replay) ripens(m *simNode) time.Time {
	pool := c.store.Pools[m.pool()]
	if pool == nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil {
		return time.Time{}
	}
	return c.idle[m.node].since.Add(*pool.Spec.Disruption.ConsolidateAfter.Duration)
}

// opens is when a node that is ripe can next be consolidated, after now; the zero time if that depends on no paid hour.
func (c *replay) opens(m *simNode) time.Time {
	class := c.store.Classes[m.claim.Spec.NodeClassRef.Name]
	if class == nil || !c.idle[m.node].ripe {
		return time.Time{}
	}
	p, err := nodeclaim.ConsolidationPolicyOf(class)
	if err != nil || p.Last == 0 {
		return time.Time{}
	}
	from, _ := p.Window(m.claim.CreationTimestamp.Time, c.now.Now())
	if !from.After(c.now.Now()) {
		from = from.Add(time.Hour)
	}
	return from
}

// nextTurn is when something may happen next, at most the limit.
func (c *replay) nextTurn(limit time.Time) time.Time {
	now, next := c.now.Now(), limit
	for _, m := range c.made {
		for _, at := range []time.Time{c.ripens(m), expiry(m)} {
			if at.After(now) && at.Before(next) {
				next = at
			}
		}
	}
	for _, m := range c.made {
		if at := c.opens(m); !at.IsZero() && at.Before(next) {
			next, c.open = at, true
		}
	}
	if turn := disrupt.NextBudgetChange(c.dynamic, now, next); turn.Before(next) {
		next, c.open = turn, true
	}
	return next
}
