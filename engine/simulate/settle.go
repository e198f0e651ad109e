package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/podset"
	"github.com/lkeplan/lkeplan/engine/simulate/settling"
	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Settle is what happens once the pods have their nodes: some pods leave, and Karpenter
// gives up and replaces nodes until nothing changes any more.
type Settle struct {
	Keep  int // percent of the pods of each workload that stay, rounded up; 0 stands for all
	Steps int // after which it ends in any case; 0 stands for MaxSteps
}

// MaxSteps bounds the steps of Karpenter that are simulated.
const MaxSteps = 1000

// Settled is what becomes of the nodes.
type Settled struct {
	Left   int         `json:"left"`  // pods that left before the first step
	Steps  []step.Move `json:"steps"` // of Karpenter, one after the other
	Plans  []Plan      `json:"plans"`
	Total  step.Cost   `json:"total"`
	Nodes  []Node      `json:"nodes"`
	Placed int         `json:"placed"`
	// Refused are the pods that have no node at the end.
	Refused int           `json:"refused"`
	Held    []step.Stayed `json:"held"`  // why the nodes stay that are there at the end
	Notes   []string      `json:"notes"` // what of it is not as in a cluster
	Ended   bool          `json:"ended"` // nothing changes any more
	Peak    step.Cost     `json:"peak"`  // the most that all nodes cost at a time: what is new comes before the old goes
}

// settle simulates what Karpenter does with the nodes that are there.
func (w *world) settle(ctx context.Context, in Input, pending []*corev1.Pod) (*ending, error) {
	now := settling.NewClock()
	w.clock, w.store.Budgets = now, in.Budgets
	e := &ending{world: w, now: now, stuck: map[string]string{}, pending: pending, out: newSettled()}
	for _, pool := range w.dynamic {
		ready(pool)
	}
	if err := e.scaleDown(ctx, in.Settle.Keep); err != nil {
		return nil, err
	}
	return e, e.run(ctx, in.Settle.Steps)
}

func newSettled() *Settled {
	return &Settled{Steps: []step.Move{}, Held: []step.Stayed{}, Notes: []string{}}
}

// run takes steps until nothing changes any more, or so many.
func (e *ending) run(ctx context.Context, most int) error {
	e.peak()
	most = cmp.Or(most, MaxSteps)
	for !e.out.Ended {
		if len(e.out.Steps) == most {
			e.out.Notes = append(e.out.Notes, fmt.Sprintf("It ends here after %s: more would follow.", step.Count(most, "step")))
			break
		}
		if err := e.step(settings(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// ending is a world on its way to where nothing changes any more.
type ending struct {
	*world
	now     *settling.Clock
	pending []*corev1.Pod
	stuck   map[string]string // nodes whose replacement was not to be had, and why
	out     *Settled
	slow    bool
	changed bool // pools have been declared anew since nodes were made
}

// scaleDown has pods leave. Of a workload those leave first that have no node, then one
// after the other from the node that has the most of them. The controllers of Kubernetes
// take them by chance from the nodes that have the most.
func (e *ending) scaleDown(ctx context.Context, keep int) error {
	if keep <= 0 || keep >= 100 {
		return nil
	}
	byLoad := make([][]*corev1.Pod, len(e.workloads))
	for _, pod := range e.pods {
		byLoad[e.of[pod.UID]] = append(byLoad[e.of[pod.UID]], pod)
	}
	var leave []*corev1.Pod
	for _, pods := range byLoad {
		leave = append(leave, podset.Leaving(pods, len(pods)-(len(pods)*keep+99)/100)...)
	}
	gone := map[*corev1.Pod]bool{}
	for _, pod := range leave {
		gone[pod] = true
	}
	e.store.Unbind(leave)
	e.pods = slices.DeleteFunc(slices.Clone(e.pods), func(p *corev1.Pod) bool { return gone[p] })
	e.pending = slices.DeleteFunc(slices.Clone(e.pending), func(p *corev1.Pod) bool { return gone[p] })
	e.out.Left = len(leave)
	var err error
	e.pending, err = e.place(ctx, e.pending)
	return err
}

// step finds the next command of Karpenter, and carries it out.
func (e *ending) step(ctx context.Context) error {
	for _, m := range e.made {
		e.ripen(m)
	}
	if e.changed {
		if err := e.judge(ctx); err != nil {
			return err
		}
	}
	settling.Allow(e.store.Budgets, e.pods)
	e.store.Bound[""] = e.waiting()
	cluster, err := e.cluster(ctx)
	if err != nil {
		return err
	}
	found, err := settling.Cluster{
		Client: e.store, Provider: e.provider, State: cluster, Clock: e.now, Prices: e.prices(),
		Except: func(kind settling.Kind, node string) bool { return e.stuck[stuckAs(kind, node)] != "" },
	}.Next(ctx)
	e.slow = e.slow || found.Slow
	switch {
	case err != nil:
		return fmt.Errorf("have Karpenter consolidate: %w", err)
	case found.Command == nil:
		e.out.Ended = true
		e.held(found.Held)
		return nil
	}
	return e.carryOut(ctx, found.Command)
}

// ripen gives a node what it has once it has been there for a while.
func (e *ending) ripen(m *made) {
	node := e.store.Nodes[m.node]
	if len(node.Status.Conditions) > 0 {
		return
	}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered,
		karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		m.claim.StatusConditions().SetTrue(condition)
	}
	m.claim.Status.NodeName = m.node
	node.Annotations = m.claim.Annotations
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

// waiting are the pods without a node, as the scheduler of Kubernetes leaves them. The
// others have run for a while.
func (e *ending) waiting() []*corev1.Pod {
	for _, pod := range e.pods {
		pod.Status = corev1.PodStatus{StartTime: ptr.To(metav1.NewTime(time.Unix(0, 0)))}
	}
	for _, pod := range e.pending {
		reason := corev1.PodReasonUnschedulable
		if e.bars[pod.UID] != "" {
			reason = corev1.PodReasonSchedulingGated // for which Karpenter makes no room
		}
		pod.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason,
		}}}
	}
	return e.pending
}

func (e *ending) prices() map[string]float64 {
	of := map[string]float64{}
	for _, m := range e.made {
		of[m.pool()] += e.types.Price(m.plan()).Hourly.Float64()
	}
	return of
}
