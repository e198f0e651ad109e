package inplace

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Uses returns the labels of nodes on which the placement of a pod depends, each with how it does: "its nodeSelector",
// "its node affinity", "its topology spread" or "its pod affinity". Preferences count, too.
func Uses(pod corev1.PodSpec) map[string]string {
	used := map[string]string{}
	affinity := ptr.Deref(pod.Affinity, corev1.Affinity{})
	near := ptr.Deref(affinity.PodAffinity, corev1.PodAffinity{})
	apart := ptr.Deref(affinity.PodAntiAffinity, corev1.PodAntiAffinity{})
	nearOrApart := slices.Concat(near.RequiredDuringSchedulingIgnoredDuringExecution,
		apart.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, preferred := range slices.Concat(near.PreferredDuringSchedulingIgnoredDuringExecution,
		apart.PreferredDuringSchedulingIgnoredDuringExecution) {
		nearOrApart = append(nearOrApart, preferred.PodAffinityTerm)
	}
	for _, term := range nearOrApart {
		used[term.TopologyKey] = "its pod affinity"
	}
	nodes := ptr.Deref(affinity.NodeAffinity, corev1.NodeAffinity{})
	onNodes := slices.Clone(ptr.Deref(nodes.RequiredDuringSchedulingIgnoredDuringExecution,
		corev1.NodeSelector{}).NodeSelectorTerms)
	for _, preferred := range nodes.PreferredDuringSchedulingIgnoredDuringExecution {
		onNodes = append(onNodes, preferred.Preference)
	}
	for _, term := range onNodes {
		for _, r := range term.MatchExpressions {
			used[r.Key] = "its node affinity"
		}
	}
	for _, s := range pod.TopologySpreadConstraints {
		used[s.TopologyKey] = "its topology spread"
	}
	for key := range pod.NodeSelector {
		used[key] = "its nodeSelector"
	}
	return used
}
