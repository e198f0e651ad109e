package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/timing"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/schemas"
)

// Hold notes on nodes what keeps Karpenter from replacing them, by Karpenter's
// own judgement of pods and PodDisruptionBudgets (karpenter v1.14.1,
// ValidateNodeDisruptable and ValidatePodsDisruptable). Pods do not hold a node
// that has a terminationGracePeriod.
func Hold(nodes []plan.Node, found clusters.Snapshot, now time.Time) ([]plan.Node, error) {
	capacityLimits, err := pdb.NewLimits(context.Background(), lists{budgets: found.Budgets})
	if err != nil {
		return nil, fmt.Errorf("read the PodDisruptionBudgets: %w", err)
	}
	byName := make(map[string]*corev1.Node, len(found.Nodes))
	for _, machine := range found.Nodes {
		byName[machine.Name] = machine
	}
	on := map[string][]*corev1.Pod{}
	for _, pod := range found.Pods {
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	elsewhere := otherPlaces(found, nodes)
	held := make([]plan.Node, len(nodes))
	for i, n := range nodes {
		if machine := byName[n.Node]; machine != nil {
			n.Deleting = n.Deleting || !ready(machine)
			_, looped := machine.Annotations[limits.AnnotationHeld]
			switch kept := machine.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"; {
			case kept && looped:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldAsLoop, Object: "the controller has stopped replacing nodes " +
					"of this pool, as it did not end (condition " + limits.ConditionReplacementsStopped + ")"})
			case kept:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "node " + n.Node})
			}
		}
		if n.NoTerminationGrace && n.Node != "" {
			n.Holds = append(n.Holds, byPods(on[n.Node], capacityLimits, timing.ClockAt(now))...)
		}
		if n.Condemned && elsewhere != nil && n.Node != "" {
			n.Holds = append(n.Holds, elsewhere.withoutOtherPlace(on[n.Node])...)
		}
		held[i] = n
	}
	return held, nil
}

// otherPlaces are where the pods of condemned pools can go; nil where that is not known, or
// no pool is condemned.
func otherPlaces(in clusters.Snapshot, nodes []plan.Node) *places {
	leaving := map[string]bool{}
	for _, n := range nodes {
		if n.Condemned {
			leaving[n.Pool] = true
		}
	}
	if len(leaving) == 0 || in.Unread(clusters.KindPools) != "" {
		return nil
	}
	return placesOf(in.Pools, in.Nodes, leaving)
}

// byPods are the holds of the pods on one node.
func byPods(pods []*corev1.Pod, limits pdb.Limits, at clock.Clock) (holds []plan.Hold) {
	seen := map[plan.Hold]bool{}
	add := func(h plan.Hold) {
		if !seen[h] {
			seen[h] = true
			holds = append(holds, h)
		}
	}
	for _, pod := range pods {
		if !podutil.IsDisruptable(pod, at, noEvents{}) {
			add(plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "pod " + pod.Namespace + "/" + pod.Name,
				Workload: workloadOf(pod)})
		}
		if blocking, ok := limits.CanEvictPods([]*corev1.Pod{pod}, at, noEvents{}); !ok {
			for _, key := range blocking {
				add(plan.Hold{Reason: plan.HeldByPDB, Object: key.String()})
			}
		}
	}
	return holds
}

// workloadOf is what has made a pod; "" for a pod that nothing has made.
func workloadOf(pod *corev1.Pod) string {
	if owner := simulate.Owner(pod); !strings.HasPrefix(owner, "Pod ") {
		return owner
	}
	return ""
}

// lists answers Karpenter's question for the PodDisruptionBudgets of a cluster
// with those that were read, and no other.
type lists struct {
	client.Client
	budgets []*policyv1.PodDisruptionBudget
}

func (l lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return fmt.Errorf("there is no list of %T", into)
	}
	for _, budget := range l.budgets {
		if _, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err != nil {
			budget = budget.DeepCopy()
			budget.Spec.Selector = &metav1.LabelSelector{} // which pods it is for is not known: all of its namespace
		}
		list.Items = append(list.Items, *budget)
	}
	return nil
}

// noEvents drops the events that Karpenter would publish in a cluster.
type noEvents struct{}

func (noEvents) Publish(...events.Event) {}

// places knows where pods of condemned pools can go: to nodes that other pools make, or
// to nodes that are there already. Whether there is room it does not know, so what it says is
// certain only where it finds none.
type places struct {
	pools    []place
	machines []place
	known    map[string]bool // whether there is one, by what pods ask for
}

// place is where pods can go, or not: nodes of a pool, or one node.
type place struct {
	pool   string // "" for a node that no pool has made
	labels scheduling.Requirements
	taints scheduling.Taints
}

// placesOf are all places but those that are condemned, or on their way out.
func placesOf(pools []*karpv1.NodePool, machines []*corev1.Node, leaving map[string]bool) *places {
	p := &places{known: map[string]bool{}}
	for _, pool := range pools {
		_, condemned := pool.Annotations[schemas.AnnotationRemoval]
		if leaving[pool.Name] || condemned || !pool.DeletionTimestamp.IsZero() {
			continue
		}
		labels := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
		labels.Add(scheduling.NewLabelRequirements(pool.Spec.Template.Labels).Values()...)
		class := pool.Spec.Template.Spec.NodeClassRef
		labels.Add(scheduling.NewLabelRequirements(map[string]string{
			karpv1.NodePoolLabelKey: pool.Name, karpv1.NodeClassLabelKey(class.GroupKind()): class.Name,
		}).Values()...)
		p.pools = append(p.pools, place{pool.Name, labels, pool.Spec.Template.Spec.Taints})
	}
	for _, machine := range machines {
		pool := machine.Labels[karpv1.NodePoolLabelKey]
		if !leaving[pool] && machine.DeletionTimestamp.IsZero() {
			p.machines = append(p.machines, place{pool, scheduling.NewLabelRequirements(machine.Labels), machine.Spec.Taints})
		}
	}
	return p
}

// withoutOtherPlace are the holds of pods that have no place but the pool that they are to leave.
func (p *places) withoutOtherPlace(pods []*corev1.Pod) (holds []plan.Hold) {
	for _, pod := range pods {
		if podutil.IsReschedulable(pod) && !p.takes(pod) {
			holds = append(holds, plan.Hold{Reason: plan.NoOtherPlace, Object: "pod " + pod.Namespace + "/" + pod.Name,
				Workload: workloadOf(pod)})
		}
	}
	return holds
}

// takes reports whether there is a place that a pod may go to.
func (p *places) takes(pod *corev1.Pod) bool {
	key := fmt.Sprint(pod.Spec.NodeSelector, pod.Spec.Affinity, pod.Spec.Tolerations)
	taken, known := p.known[key]
	if known {
		return taken
	}
	for _, asks := range alternatives(pod) {
		for _, to := range p.pools {
			taken = taken || to.taints.ToleratesPod(pod) == nil &&
				to.labels.Compatible(asks, scheduling.AllowUndefinedWellKnownLabels) == nil
		}
		for _, to := range p.machines {
			taken = taken || to.taints.ToleratesPod(pod) == nil && to.labels.Compatible(asks) == nil
		}
	}
	p.known[key] = taken
	return taken
}

// alternatives are what a pod requires of its node, one of which is enough.
func alternatives(pod *corev1.Pod) []scheduling.Requirements {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []scheduling.Requirements{scheduling.NewLabelRequirements(pod.Spec.NodeSelector)}
	}
	var all []scheduling.Requirements
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		asks := scheduling.NewLabelRequirements(pod.Spec.NodeSelector)
		asks.Add(scheduling.NewNodeSelectorRequirements(term.MatchExpressions...).Values()...)
		all = append(all, asks)
	}
	return all
}
