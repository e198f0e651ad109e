package compare

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/timing"
	"github.com/lkeplan/lkeplan/linode/limits"
)

// Hold notes on nodes what keeps Karpenter from replacing them, by Karpenter's
// own judgement of pods and PodDisruptionBudgets (karpenter v1.14.1,
// ValidateNodeDisruptable and ValidatePodsDisruptable). Pods do not hold a node
// that has a terminationGracePeriod.
func Hold(nodes []plan.Node, found Holders, now time.Time) ([]plan.Node, error) {
	capacityLimits, err := pdb.NewLimits(context.Background(), lists{budgets: found.Budgets})
	if err != nil {
		return nil, fmt.Errorf("read the PodDisruptionBudgets: %w", err)
	}
	byName := make(map[string]*corev1.Node, len(found.Machines))
	for i := range found.Machines {
		byName[found.Machines[i].Name] = &found.Machines[i]
	}
	on := map[string][]*corev1.Pod{}
	for i := range found.Pods {
		on[found.Pods[i].Spec.NodeName] = append(on[found.Pods[i].Spec.NodeName], &found.Pods[i])
	}
	elsewhere := found.places(nodes)
	held := make([]plan.Node, len(nodes))
	for i, n := range nodes {
		if machine := byName[n.Node]; machine != nil {
			n.Leaving = n.Leaving || !ready(machine)
			_, looped := machine.Annotations[limits.AnnotationHeld]
			switch kept := machine.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"; {
			case kept && looped:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldAsLoop, Object: "the controller has stopped replacing nodes " +
					"of this pool, as it did not end (condition " + limits.ConditionReplacementsStopped + ")"})
			case kept:
				n.Holds = append(n.Holds, plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "node " + n.Node})
			}
		}
		if n.Patient && n.Node != "" {
			n.Holds = append(n.Holds, byPods(on[n.Node], capacityLimits, timing.ClockAt(now))...)
		}
		if n.Condemned && elsewhere != nil && n.Node != "" {
			n.Holds = append(n.Holds, elsewhere.homeless(on[n.Node])...)
		}
		held[i] = n
	}
	return held, nil
}

// Holders are what may hold nodes.
type Holders struct {
	Machines []corev1.Node
	Pods     []corev1.Pod
	Budgets  []policyv1.PodDisruptionBudget
	Pools    []karpv1.NodePool // of the whole cluster; nil where they are not known
}

// places are where the pods of condemned pools can go; nil where that is not known, or
// no pool is condemned.
func (h Holders) places(nodes []plan.Node) *places {
	leaving := map[string]bool{}
	for _, n := range nodes {
		if n.Condemned {
			leaving[n.Pool] = true
		}
	}
	if len(leaving) == 0 || h.Pools == nil {
		return nil
	}
	return placesOf(h.Pools, h.Machines, leaving)
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
		if !podutil.IsDisruptable(pod, at, silent{}) {
			add(plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "pod " + pod.Namespace + "/" + pod.Name})
		}
		if blocking, ok := limits.CanEvictPods([]*corev1.Pod{pod}, at, silent{}); !ok {
			for _, key := range blocking {
				add(plan.Hold{Reason: plan.HeldByPDB, Object: key.String()})
			}
		}
	}
	return holds
}

func ready(machine *corev1.Node) bool {
	for _, c := range machine.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// lists answers Karpenter's question for the PodDisruptionBudgets of a cluster
// with those that were read, and no other.
type lists struct {
	client.Client
	budgets []policyv1.PodDisruptionBudget
}

func (l lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, ok := into.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return fmt.Errorf("there is no list of %T", into)
	}
	list.Items = l.budgets
	return nil
}

// silent drops the events that Karpenter would publish in a cluster.
type silent struct{}

func (silent) Publish(...events.Event) {}
