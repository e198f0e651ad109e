package instancetype

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// RequirementsOf returns the requirements of a NodePool for all its nodes.
func RequirementsOf(pool *karpv1.NodePool) scheduling.Requirements {
	return scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
}

// ForPod returns what a NodePool and a pod together require of a node; false if the pod does not match the
// NodePool's nodes.
func ForPod(pool *karpv1.NodePool, pod *corev1.Pod) (want scheduling.Requirements, ok bool) {
	taints := slices.DeleteFunc(slices.Clone(pool.Spec.Template.Spec.Taints), func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectPreferNoSchedule // Karpenter plans with such nodes if there are no others
	})
	if scheduling.Taints(taints).ToleratesPod(pod) != nil {
		return nil, false
	}
	want = RequirementsOf(pool)
	want.Add(scheduling.NewLabelRequirements(pool.Spec.Template.Labels).Values()...)
	want.Add(scheduling.NewRequirement(karpv1.NodePoolLabelKey, corev1.NodeSelectorOpIn, pool.Name))
	wish := scheduling.NewPodRequirements(pod)
	if want.Compatible(wish, scheduling.AllowUndefinedWellKnownLabels) != nil {
		return nil, false
	}
	want.Add(wish.Values()...)
	return want, true
}

// Candidates returns the types that meet the requirements, have room for the
// requests and have an available offering that the requirements allow, cheapest
// first. Equal prices stay in the order of the types, so that claims of one shape
// end up in one group.
func Candidates(
	types []*cloudprovider.InstanceType, want scheduling.Requirements, requests corev1.ResourceList,
) []*cloudprovider.InstanceType {
	var fit []*cloudprovider.InstanceType
	price := map[string]float64{}
	for _, it := range types {
		offerings := it.Offerings.Available().Compatible(want)
		if len(offerings) == 0 || want.Intersects(it.Requirements) != nil || !resources.Fits(requests, it.Allocatable()) {
			continue
		}
		fit = append(fit, it)
		price[it.Name] = offerings.Cheapest().Price
	}
	slices.SortStableFunc(fit, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Compare(price[a.Name], price[b.Name])
	})
	return fit
}
