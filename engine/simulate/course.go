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
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/podset"
	"github.com/lkeplan/lkeplan/engine/simulate/settling"
	"github.com/lkeplan/lkeplan/engine/simulate/step"
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
	Node   step.Ref
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
	clock := settling.ClockAt(at)
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
func (c *Course) Cost() step.Cost { return c.cost(c.made) }

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
		At: at, Node: step.Ref{Name: m.node, Pool: m.pool(), Plan: m.plan()}, Made: isMade, Price: c.types.Price(m.plan()),
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
			leave = append(leave, podset.Leaving(had[i], n)...)
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
			load.Name = step.Plain(load.Name)
			c.workloads = append(c.workloads, load)
			c.doubts(load)
		}
		wanted[i] += load.Pods
	}
	return wanted, nil
}

// pod is one more pod of a kind.
func (c *Course) pod(load int) *corev1.Pod {
	pod := podset.Pending(c.workloads[load].Pod)
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
