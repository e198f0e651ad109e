package inplace

import (
	corev1 "k8s.io/api/core/v1"
)

// Uses returns the labels of nodes on which the placement of a pod depends, each with how it does: "its nodeSelector",
// "its node affinity", "its topology spread" or "its pod affinity". Preferences count, too.
func Uses(pod corev1.PodSpec) map[string]string {
	used := map[string]string{}
	if affinity := pod.Affinity; affinity != nil {
		nearOthers(affinity, func(t corev1.PodAffinityTerm) { used[t.TopologyKey] = "its pod affinity" })
		onNodes(affinity.NodeAffinity, func(r corev1.NodeSelectorRequirement) { used[r.Key] = "its node affinity" })
	}
	for _, s := range pod.TopologySpreadConstraints {
		used[s.TopologyKey] = "its topology spread"
	}
	for key := range pod.NodeSelector {
		used[key] = "its nodeSelector"
	}
	return used
}

func onNodes(affinity *corev1.NodeAffinity, each func(corev1.NodeSelectorRequirement)) {
	if affinity == nil {
		return
	}
	var terms []corev1.NodeSelectorTerm
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = append(terms, required.NodeSelectorTerms...)
	}
	for _, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}
	for _, term := range terms {
		for _, r := range term.MatchExpressions {
			each(r)
		}
	}
}

func nearOthers(affinity *corev1.Affinity, each func(corev1.PodAffinityTerm)) {
	var preferred []corev1.WeightedPodAffinityTerm
	var terms []corev1.PodAffinityTerm
	if of := affinity.PodAffinity; of != nil {
		terms = append(terms, of.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, of.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if of := affinity.PodAntiAffinity; of != nil {
		terms = append(terms, of.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, of.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, term := range preferred {
		terms = append(terms, term.PodAffinityTerm)
	}
	for _, term := range terms {
		each(term)
	}
}
