package compare

import (
	"context"
	"fmt"
	"slices"
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
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Hold sets what keeps Karpenter from replacing each node, with Karpenter's own code for pods and PodDisruptionBudgets
// (karpenter v1.15.0, ValidateNodeDisruptable and ValidatePodsDisruptable). Pods do not hold a node that has a
// terminationGracePeriod. They can move to the pools as they are after the changes.
func Hold(nodes []plan.Node, changes []plan.Change, found clusters.Snapshot, now time.Time) ([]plan.Node, error) {
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
	unknown := found.Unread(clusters.KindPods) != ""
	elsewhere, err := otherPlaces(found, nodes, changes)
	if err != nil {
		return nil, err
	}
	held := make([]plan.Node, len(nodes))
	for i, n := range nodes {
		if machine := byName[n.Node]; machine != nil {
			n.Deleting = n.Deleting || !isNodeReady(machine)
			_, looped := machine.Annotations[limits.AnnotationHeld]
			switch kept := machine.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"; {
			case kept && looped:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldAsLoop, Object: "the controller has stopped replacing nodes " +
					"of this pool, because the replacements did not end (condition " + limits.ConditionReplacementsStopped + ")"})
			case kept:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "node " + n.Node})
			}
		}
		if n.NoTerminationGrace && n.Node != "" {
			n.Holds = append(n.Holds, byPods(on[n.Node], capacityLimits, schedule.ClockAt(now))...)
		}
		if n.Condemned && elsewhere != nil && n.Node != "" {
			n.Holds = append(n.Holds, elsewhere.withoutOtherPlace(on[n.Node])...)
		}
		if !unknown {
			n.Selects = selectsOf(on[n.Node])
		}
		held[i] = n
	}
	return held, nil
}

// selectsOf returns the workloads of pods by the labels of nodes on which their placement depends; never nil.
func selectsOf(pods []*corev1.Pod) map[string][]string {
	by := map[string][]string{}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || podutil.IsTerminal(pod) {
			continue
		}
		for key, how := range inplace.Uses(pod.Spec) {
			if text := simulate.Owner(pod) + " (" + how + ")"; !slices.Contains(by[key], text) {
				by[key] = append(by[key], text)
			}
		}
	}
	return by
}

// otherPlaces returns where the pods of draining pools can run instead, with the pools that changes create; nil if
// that is unknown, or no pool is draining.
func otherPlaces(in clusters.Snapshot, nodes []plan.Node, changes []plan.Change) (*places, error) {
	leaving := map[string]bool{}
	for _, n := range nodes {
		if n.Condemned {
			leaving[n.Pool] = true
		}
	}
	if len(leaving) == 0 || in.Unread(clusters.KindPools) != "" {
		return nil, nil
	}
	pools := slices.Clone(in.Pools)
	for _, c := range changes {
		if c.Kind != schemas.Pool.Object.Kind || c.New == nil || c.Action == plan.Keep {
			continue
		}
		changed, err := manifest.As[karpv1.NodePool](c.New)
		if err != nil {
			return nil, err
		}
		pools = slices.DeleteFunc(pools, func(pool *karpv1.NodePool) bool { return pool.Name == c.Name })
		pools = append(pools, changed)
	}
	return placesOf(pools, in.Nodes, leaving), nil
}

// byPods returns the holds of the pods on one node.
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

// workloadOf returns the controller of a pod; "" if it has none.
func workloadOf(pod *corev1.Pod) string {
	if owner := simulate.Owner(pod); !strings.HasPrefix(owner, "Pod ") {
		return owner
	}
	return ""
}

// lists is a client that returns only the PodDisruptionBudgets that were read.
type lists struct {
	client.Client
	budgets []*policyv1.PodDisruptionBudget
}

func (l lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return fmt.Errorf("cannot list %T", into)
	}
	for _, budget := range l.budgets {
		if _, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err != nil {
			budget = budget.DeepCopy()
			budget.Spec.Selector = &metav1.LabelSelector{} // its pods are unknown: assume all of its namespace
		}
		list.Items = append(list.Items, *budget)
	}
	return nil
}

// noEvents drops the events that Karpenter would publish in a cluster.
type noEvents struct{}

func (noEvents) Publish(...events.Event) {}

// places are where pods of draining pools can run instead: on new nodes of other pools, or on existing nodes. It does
// not check capacity, so only the absence of a place is certain.
type places struct {
	pools    []place
	machines []place
	known    map[string]bool // results, by the requirements of pods
}

// place is the nodes of a pool, or one node.
type place struct {
	pool   string // "" for a node without a pool
	labels scheduling.Requirements
	taints scheduling.Taints
}

// placesOf returns all pools and nodes, without those that are draining or being deleted.
func placesOf(pools []*karpv1.NodePool, machines []*corev1.Node, leaving map[string]bool) *places {
	p := &places{known: map[string]bool{}}
	for _, pool := range pools {
		_, draining := pool.Annotations[schemas.AnnotationRemoval]
		class := pool.Spec.Template.Spec.NodeClassRef // which its CRD requires
		if leaving[pool.Name] || draining || !pool.DeletionTimestamp.IsZero() || class == nil {
			continue
		}
		labels := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
		labels.Add(scheduling.NewLabelRequirements(pool.Spec.Template.Labels).Values()...)
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

// withoutOtherPlace returns the holds of pods that fit only in the pool that is draining.
func (p *places) withoutOtherPlace(pods []*corev1.Pod) (holds []plan.Hold) {
	for _, pod := range pods {
		if podutil.IsReschedulable(pod) && !p.takes(pod) {
			holds = append(holds, plan.Hold{Reason: plan.NoOtherPlace, Object: "pod " + pod.Namespace + "/" + pod.Name,
				Workload: workloadOf(pod)})
		}
	}
	return holds
}

// takes reports whether a pod fits in some place.
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

// alternatives returns the requirements of a pod, of which a node must match one.
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
