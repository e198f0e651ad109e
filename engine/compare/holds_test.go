package compare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/limits"
)

// TestHolds: what keeps Karpenter from replacing the one node there is.
func TestHolds(t *testing.T) {
	keep := map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
	machine := func(status corev1.ConditionStatus, annotations map[string]string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lke1-1", Annotations: annotations},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
		}
	}
	pod := func(name, node string, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "payments", Name: name, Labels: map[string]string{"app": "api"},
				Annotations: annotations},
			Spec:   corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
	}
	budget := func(name string, allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "payments", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: metav1.SetAsLabelSelector(map[string]string{"app": "api"})},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	byPDB, byPod := plan.Hold{Reason: plan.HeldByPDB, Object: "payments/api"},
		plan.Hold{Reason: plan.HeldByDoNotDisrupt, Object: "pod payments/api-1"}
	running := machine(corev1.ConditionTrue, nil)
	tests := []struct {
		name    string
		hasty   bool // the node has a terminationGracePeriod
		machine *corev1.Node
		pods    []*corev1.Pod
		budgets []*policyv1.PodDisruptionBudget
		want    []plan.Hold
		leaving bool
	}{
		{name: "an empty node", machine: running},
		{name: "pods that may go", machine: running, pods: []*corev1.Pod{pod("api-1", "lke1-1", nil)},
			budgets: []*policyv1.PodDisruptionBudget{budget("api", 1)}},
		{name: "no eviction allowed", machine: running,
			pods:    []*corev1.Pod{pod("api-1", "lke1-1", nil), pod("api-2", "lke1-1", nil)},
			budgets: []*policyv1.PodDisruptionBudget{budget("api", 0)}, want: []plan.Hold{byPDB}},
		{name: "a pod of another node", machine: running, pods: []*corev1.Pod{pod("api-1", "lke1-2", nil)},
			budgets: []*policyv1.PodDisruptionBudget{budget("api", 0)}},
		{name: "two budgets for one pod, which Kubernetes never evicts", machine: running,
			pods:    []*corev1.Pod{pod("api-1", "lke1-1", nil)},
			budgets: []*policyv1.PodDisruptionBudget{budget("api", 1), budget("other", 1)},
			want:    []plan.Hold{byPDB, {Reason: plan.HeldByPDB, Object: "payments/other"}}},
		{name: "a pod that is not to be disrupted", machine: running, pods: []*corev1.Pod{pod("api-1", "lke1-1", keep)},
			want: []plan.Hold{byPod}},
		{name: "pods do not hold a node that ends in time", hasty: true, machine: running,
			pods: []*corev1.Pod{pod("api-1", "lke1-1", keep)}, budgets: []*policyv1.PodDisruptionBudget{budget("api", 0)}},
		{name: "a node that is not to be disrupted", hasty: true, machine: machine(corev1.ConditionTrue, keep),
			want: []plan.Hold{{Reason: plan.HeldByDoNotDisrupt, Object: "node lke1-1"}}},
		{name: "a node of a pool that replaced them without end", machine: machine(corev1.ConditionTrue,
			map[string]string{karpv1.DoNotDisruptAnnotationKey: "true", limits.AnnotationHeld: "replacements"}),
			want: []plan.Hold{{Reason: plan.HeldAsLoop, Object: "the controller has stopped replacing nodes of this pool, because the replacements did " +
				"not end (condition ReplacementsStopped)"}}},
		{name: "a node that was taken from the controller's hands", machine: machine(corev1.ConditionTrue,
			map[string]string{limits.AnnotationHeld: "replacements"})},
		{name: "a node that is not ready uses a budget", machine: machine(corev1.ConditionFalse, nil), leaving: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := []plan.Node{{Name: "web-abc", Node: "lke1-1", NoTerminationGrace: !tt.hasty}}
			got, err := Hold(nodes, nil, clusters.Snapshot{Nodes: []*corev1.Node{tt.machine}, Pods: tt.pods, Budgets: tt.budgets}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got[0].Holds); diff != "" || got[0].Deleting != tt.leaving {
				t.Errorf("leaving: %v, holds (-want +got):\n%s", got[0].Deleting, diff)
			}
		})
	}
}
