package workloads

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/shapes"
)

// FromShapes are the pods of a cluster.
func FromShapes(set shapes.Set) Found {
	found := Found{Notes: set.Notes}
	for _, s := range set.Pods {
		load := simulate.Workload{
			Name: s.Owner, Pods: s.Count, Pod: corev1.Pod{ObjectMeta: metaOf(s), Spec: s.Spec}, Volumes: s.Volumes,
		}
		if s.Waits != nil {
			load.Barred = s.Waits.String() + "."
		}
		found.Workloads = append(found.Workloads, load)
	}
	for _, s := range set.DaemonSets {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace}}
		_, name, _ := strings.Cut(s.Owner, " ")
		d.Name = name[strings.LastIndex(name, "/")+1:]
		d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metaOf(s), Spec: s.Spec}
		found.DaemonSets = append(found.DaemonSets, d)
	}
	for _, b := range set.Budgets {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace}, Spec: b.Spec}
		budget.Name = b.Name[strings.LastIndex(b.Name, "/")+1:]
		found.Budgets = append(found.Budgets, budget)
	}
	return found
}

func metaOf(s shapes.Shape) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Labels: s.Labels, Annotations: s.Annotations}
}
