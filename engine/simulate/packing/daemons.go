package packing

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// overheads groups the plan types of a template by the pods of DaemonSets that their
// nodes have.
func overheads(template *scheduling.NodeClaimTemplate, daemons []*corev1.Pod) (
	groups []scheduling.DaemonOverheadGroup) {
	at := map[string]int{}
	for _, it := range template.InstanceTypeOptions {
		var names []string
		var on []*corev1.Pod
		for _, d := range daemons {
			if !podutils.HasDRARequirements(d) && serves(template, it, d) {
				names, on = append(names, d.Namespace+"/"+d.Name), append(on, d)
			}
		}
		key := strings.Join(names, ",")
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, groupOf(on))
		}
		groups[i].InstanceTypes = append(groups[i].InstanceTypes, it)
	}
	return groups
}

func groupOf(daemons []*corev1.Pod) scheduling.DaemonOverheadGroup {
	g := scheduling.DaemonOverheadGroup{HostPortUsage: reqs.NewHostPortUsage()}
	if len(daemons) > 0 {
		g.DaemonOverhead = resources.RequestsForPods(daemons...)
	}
	for _, d := range daemons {
		g.HostPortUsage.Add(d, reqs.GetHostPorts(d))
	}
	return g
}

// serves reports whether a DaemonSet is for nodes of a plan type. As Karpenter does, it
// takes terms off the pod that are not met.
func serves(template *scheduling.NodeClaimTemplate, it *cloudprovider.InstanceType, pod *corev1.Pod) bool {
	preferred := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}
	tolerated := false
	for _, t := range pod.Spec.Tolerations {
		tolerated = tolerated || t.MatchToleration(&preferred)
	}
	if !tolerated {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, preferred)
	}
	if reqs.Taints(template.Spec.Taints).ToleratesPod(pod) != nil {
		return false
	}
	for {
		want := reqs.NewStrictPodRequirements(pod)
		if template.Requirements.IsCompatible(want, reqs.AllowUndefinedWellKnownLabels) &&
			it.Requirements.Intersects(want) == nil {
			return true
		}
		if !withoutTerm(pod) {
			return false
		}
	}
}

// withoutTerm takes the first of several terms off a pod, of which one must be met.
func withoutTerm(pod *corev1.Pod) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) < 2 {
		return false
	}
	required.NodeSelectorTerms = required.NodeSelectorTerms[1:]
	return true
}
