package settling

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Allow says of PodDisruptionBudgets how many evictions they allow, as Kubernetes does
// where each pod that has a node is ready. One that cannot be read allows none.
func Allow(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod) {
	for _, b := range budgets {
		b.Status = policyv1.PodDisruptionBudgetStatus{}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		all, healthy := 0, 0
		for _, pod := range pods {
			if pod.Namespace != b.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			all++
			if pod.Spec.NodeName != "" {
				healthy++
			}
		}
		least := all
		if most := b.Spec.MaxUnavailable; most != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(most, all, true); err == nil {
				least = max(0, all-n)
			}
		} else if b.Spec.MinAvailable != nil {
			if n, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, all, true); err == nil {
				least = n
			}
		}
		b.Status.ExpectedPods, b.Status.CurrentHealthy, b.Status.DesiredHealthy = int32(all), int32(healthy), int32(least)
		b.Status.DisruptionsAllowed = int32(max(0, healthy-least))
	}
}
