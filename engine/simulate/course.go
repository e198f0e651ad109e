package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Course is a cluster in memory whose pods come and go as time goes on, and whose nodes
// live on in between: Karpenter makes them for pods, and lets them go when consolidateAfter
// has passed, budgets allow it, or expireAfter has come.
//
// A step of Karpenter takes StepTime: what goes is there until then, and what takes its place
// from the beginning.
type Course struct {
	ending
	loads map[string]int          // the workload of each kind of pods
	next  int                     // UID of the next pod
	born  map[types.UID]time.Time // when pods have come
	quiet map[string]*still
	open  bool // something has changed since Karpenter last found nothing to do
	told  []Event
	crowd Crowd           // the last one
	seen  map[string]bool // nodes whose beginning was told
}

// still is since when no pod has come to a node or has left it.
type still struct {
	pods  string // those that are on it
	since time.Time
	ripe  bool // consolidateAfter has passed
}

// StepTime is how long a step of Karpenter takes: machines of LKE are nodes after some two
// minutes, and the pods move then.
const StepTime = 3 * time.Minute

// Event is a node that is made, or is gone.
type Event struct {
	At     time.Time
	Node   NodeRef
	Made   bool
	Price  catalog.Price
	Reason string // why it goes, in the words of budgets
}

// Crowd is the pods that a cluster has at a time.
type Crowd struct {
	Workloads  []Workload
	DaemonSets []*appsv1.DaemonSet
	Budgets    []*policyv1.PodDisruptionBudget
}

// Begin is a course of the pools of an input at a time. The nodes of static pools are there,
// and no pods.
func Begin(ctx context.Context, in Input, at time.Time) (*Course, error) {
	if in.Region == "" {
		return nil, errors.New("the region of the cluster is not known, and plans and prices follow from it")
	}
	linode.Register()
	in.Workloads, in.DaemonSets = nil, nil
	w, err := newWorld(ctx, in)
	if err != nil {
		return nil, err
	}
	clock := disrupt.ClockAt(at)
	w.clock, w.many = clock, manyPods
	for _, pool := range w.dynamic {
		pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
		pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	}
	c := &Course{
		ending: ending{world: w, now: clock, stuck: map[string]string{}, out: &Settled{}},
		loads:  map[string]int{}, born: map[types.UID]time.Time{}, quiet: map[string]*still{}, seen: map[string]bool{},
	}
	return c, w.makeStatic(ctx, nil)
}

// Now is the time in the course.
func (c *Course) Now() time.Time { return c.now.Now() }

// Counts are how many pods and nodes there are, and pods without a node.
func (c *Course) Counts() (pods, pending, nodes int) { return len(c.pods), len(c.pending), len(c.made) }

// Cost is what the nodes cost that there are.
func (c *Course) Cost() Cost { return c.cost(c.made) }

// Refusals are the pods that have no node, and why.
func (c *Course) Refusals(ctx context.Context) ([]Refusal, error) { return c.refusals(ctx, c.pending) }

// Notes are what is not simulated, or not as in a cluster.
func (c *Course) Notes() []string {
	notes := slices.Clone(c.notes)
	for _, s := range c.shortfalls {
		notes = append(notes, fmt.Sprintf("Pool %s gets %d of %d nodes: %s", s.Pool, s.Made, s.Wanted, s.Text))
	}
	if c.slow {
		notes = append(notes, slowNote)
	}
	return notes
}

// Events are the nodes that were made and are gone since the last call, in order.
func (c *Course) Events() []Event {
	for _, m := range c.made {
		c.tell(m)
	}
	events := c.told
	c.told = nil
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// tell tells once that a node was made.
func (c *Course) tell(m *made) {
	if !c.seen[m.node] {
		c.seen[m.node] = true
		c.told = append(c.told, c.event(m, m.claim.CreationTimestamp.Time, true, ""))
	}
}

func (c *Course) event(m *made, at time.Time, isMade bool, reason string) Event {
	return Event{
		At: at, Node: NodeRef{Name: m.node, Pool: m.pool(), Plan: m.plan()}, Made: isMade, Price: c.types.Price(m.plan()),
		Reason: reason,
	}
}

// Have makes the pods those of a crowd: of each kind as many as it has. Of a kind of which
// there are fewer, those leave first that have no node, then one after the other from the
// node that has the most of them. Those that have come get nodes.
func (c *Course) Have(ctx context.Context, crowd Crowd) error {
	c.daemons, c.store.Sets, c.store.Budgets = nil, nil, crowd.Budgets
	c.have(crowd.DaemonSets)
	wanted, err := c.wanted(crowd.Workloads)
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
			come = append(come, c.pod(i))
		}
	}
	c.open = c.open || len(leave)+len(come)+len(c.pending) > 0 || !equality.Semantic.DeepEqual(c.crowd, crowd)
	c.crowd = crowd
	c.leave(leave)
	c.pods, c.pending = append(c.pods, come...), append(c.pending, come...)
	c.stuck = map[string]string{}
	return c.settleDown(ctx)
}

// wanted is how many pods of each kind there are to be.
func (c *Course) wanted(loads []Workload) (wanted map[int]int, err error) {
	wanted = map[int]int{}
	asked := 0
	for _, load := range loads {
		if asked += load.Pods; asked > MaxPods {
			return nil, fmt.Errorf("there are more than %d pods, the most that can be simulated", MaxPods)
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
			load.Name = Plain(load.Name)
			c.workloads = append(c.workloads, load)
			c.doubts(load)
		}
		wanted[i] += load.Pods
	}
	return wanted, nil
}

// pod is one more pod of a kind.
func (c *Course) pod(load int) *corev1.Pod {
	pod := pendingPod(c.workloads[load].Pod)
	pod.UID = types.UID(fmt.Sprintf("%08d", c.next))
	pod.Name = "pod-" + string(pod.UID)
	c.workloads[load].Volumes.To(pod)
	c.next++
	c.of[pod.UID], c.born[pod.UID] = load, c.Now()
	c.bar(pod, c.workloads[load].Barred)
	return pod
}

// leave has pods go.
func (c *Course) leave(pods []*corev1.Pod) {
	goes := make(map[*corev1.Pod]bool, len(pods))
	for _, pod := range pods {
		goes[pod] = true
		delete(c.of, pod.UID)
		delete(c.born, pod.UID)
	}
	is := func(pod *corev1.Pod) bool { return goes[pod] }
	c.store.Unbind(pods)
	c.pods, c.pending = slices.DeleteFunc(c.pods, is), slices.DeleteFunc(c.pending, is)
}

// settleDown finds nodes for the pods that wait, and notes which nodes are new and where pods
// have come and gone.
func (c *Course) settleDown(ctx context.Context) (err error) {
	if c.pending, err = c.place(ctx, c.pending); err != nil {
		return err
	}
	for _, m := range c.made {
		if m.claim.CreationTimestamp.IsZero() {
			m.claim.CreationTimestamp = metav1.NewTime(c.Now())
		}
		pods := ""
		for _, pod := range c.store.Bound[m.node] {
			pods += string(pod.UID) + " "
		}
		if s := c.quiet[m.node]; s == nil || s.pods != pods {
			c.quiet[m.node] = &still{pods: pods, since: c.Now()}
			c.open = true
		}
	}
	return nil
}

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
	disrupt.CountAllowed(c.store.Budgets, c.pods)
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
	found, err := disrupt.Cluster{
		Client: c.store, Provider: c.provider, State: cluster, Clock: c.now, Prices: c.prices(),
		Except: func(kind disrupt.Kind, node string) bool { return c.stuck[stuckAs(kind, node)] != "" },
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
	if turn := disrupt.NextBudgetChange(c.dynamic, now, next); turn.Before(next) {
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
	if key := ambiguousTopology(load.Pod.Spec); key != "" {
		w.note("%s is placed by %s, and of values that do equally well Karpenter takes one at random: another run may "+
			"have other nodes.", load.Name, key)
	}
}
