package podlint

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// zones finds pods that must run in several zones.
func (c *podChecker) zones() {
	for _, w := range c.in.Workloads {
		if most, why := inOneZone(w.Pod); why != "" && w.Pods > most {
			c.find(lint.ZoneSpreadOfOneZone, config.Addr{}, "region",
				"%s has %s, but all nodes of a cluster are in one zone: of its %s, at most %d can get a node.", w.Name, why,
				text.Count(w.Pods, "pod"), most)
		}
	}
}

// inOneZone returns how many pods of a workload fit in one zone, and why; "" if there is no limit.
func inOneZone(pod corev1.Pod) (most int, why string) {
	for _, s := range pod.Spec.TopologySpreadConstraints {
		if s.TopologyKey == corev1.LabelTopologyZone && s.WhenUnsatisfiable == corev1.DoNotSchedule &&
			ptr.Deref(s.MinDomains, 1) > 1 {
			return int(s.MaxSkew), fmt.Sprintf("a topologySpreadConstraint by zone with minDomains: %d", *s.MinDomains)
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return 0, ""
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if term.TopologyKey == corev1.LabelTopologyZone && err == nil && selector.Matches(labels.Set(pod.Labels)) {
			return 1, "a required podAntiAffinity to itself by zone"
		}
	}
	return 0, ""
}

// gpus finds pods that request more GPUs than any plan of a pool has.
func (c *podChecker) gpus() {
	var most int64
	for _, p := range c.pools {
		candidates := instancetype.Candidates(c.types, instancetype.RequirementsOf(p.NodePool), nil)
		for _, it := range candidates {
			has := it.Capacity[instancetype.ResourceGPU]
			most = max(most, has.Value())
		}
		if len(candidates) == 0 {
			c.skip(lint.GPUPodsWithoutPool, fmt.Sprintf("no known plan type meets the requirements of %s", p.addr))
			return
		}
	}
	for _, w := range c.in.Workloads {
		requests := resources.RequestsForPods(&w.Pod)
		if asks := requests[instancetype.ResourceGPU]; asks.Value() > most {
			c.find(lint.GPUPodsWithoutPool, config.Addr{}, "",
				"A pod of %s requests %s, but the plan types that the pools allow have at most %d.", w.Name,
				text.Count(int(asks.Value()), "GPU"), most)
		}
	}
}
