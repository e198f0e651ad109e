package compare

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

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

// homeless are the holds of pods that have no place but the pool that they are to leave.
func (p *places) homeless(pods []*corev1.Pod) (holds []plan.Hold) {
	for _, pod := range pods {
		if podutil.IsReschedulable(pod) && !p.takes(pod) {
			holds = append(holds, plan.Hold{Reason: plan.NoOtherPlace, Object: "pod " + pod.Namespace + "/" + pod.Name})
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
