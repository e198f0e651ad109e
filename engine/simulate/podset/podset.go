// Package podset is what the simulation reads of pods, and makes of them: pure functions of a
// pod, without a cluster.
package podset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/simulate/storage"
)

// Pending is a pending pod, without volumes: they ask for no more than the region, which is
// the same for all nodes, and to be attached, for which the caller gives it others.
func Pending(like corev1.Pod) *corev1.Pod {
	pod := like.DeepCopy()
	pod.Namespace = cmp.Or(pod.Namespace, corev1.NamespaceDefault)
	pod.Status, pod.Spec.NodeName, pod.Spec.Volumes = corev1.PodStatus{}, "", nil
	Requests(&pod.Spec)
	HostPorts(&pod.Spec)
	if terms := termsOf(pod.Spec); terms != nil && Barred(pod.Spec) == "" {
		*terms = slices.DeleteFunc(*terms, forNone)
	}
	return pod
}

// HostPorts takes the ports of a pod in the network of its node for those of the node, as the
// API server does.
func HostPorts(spec *corev1.PodSpec) {
	if !spec.HostNetwork {
		return
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				port := &containers[i].Ports[j]
				port.HostPort = cmp.Or(port.HostPort, port.ContainerPort)
			}
		}
	}
}

// Barred says why pods get no node, whatever it is like; "" where they may.
func Barred(spec corev1.PodSpec) string {
	if len(spec.SchedulingGates) > 0 {
		return fmt.Sprintf("the scheduling gate %s holds it back.", spec.SchedulingGates[0].Name)
	}
	if terms := termsOf(spec); terms != nil && !slices.ContainsFunc(*terms, func(t corev1.NodeSelectorTerm) bool {
		return !forNone(t)
	}) {
		return "its nodeSelectorTerms are for no node: a term that asks for nothing is."
	}
	return ""
}

// termsOf are the terms of which a node has to meet one; nil where there are none to meet.
func termsOf(spec corev1.PodSpec) *[]corev1.NodeSelectorTerm {
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// forNone reports whether a term asks for nothing: Kubernetes takes that for no node, and
// Karpenter for any.
func forNone(t corev1.NodeSelectorTerm) bool { return len(t.MatchExpressions)+len(t.MatchFields) == 0 }

// Requests has the containers of a pod ask for what they are limited to, where they do not say
// what they ask for, as the API server does.
func Requests(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			request(&containers[i].Resources)
		}
	}
}

func request(r *corev1.ResourceRequirements) {
	for name, most := range r.Limits {
		if _, asked := r.Requests[name]; !asked {
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = most.DeepCopy()
		}
	}
}

// Chance returns a label by which pods are spread or kept apart, and which may have
// several values before there are nodes; "" where there is none.
func Chance(spec corev1.PodSpec) string {
	var keys []string
	for _, c := range spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
	}
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, t.TopologyKey)
		}
		for _, t := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, t.PodAffinityTerm.TopologyKey)
		}
	}
	certain := []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}
	i := slices.IndexFunc(keys, func(key string) bool { return !slices.Contains(certain, key) })
	if i < 0 {
		return ""
	}
	return keys[i]
}

// Mirrors reports whether a pod is what the API server shows of one that the kubelet of a node
// runs by itself.
func Mirrors(pod *corev1.Pod) bool {
	return podutils.IsOwnedByNode(pod) || pod.Annotations[corev1.MirrorPodAnnotationKey] != ""
}

// Counts reports whether a pod of a cluster is to have a node, whether it has one or waits.
// One that is being deleted has another in its place already, but in a StatefulSet, where that
// comes after it.
func Counts(pod *corev1.Pod) bool {
	if podutils.IsTerminal(pod) || podutils.IsOwnedByDaemonSet(pod) || Mirrors(pod) {
		return false
	}
	controller := metav1.GetControllerOf(pod)
	return pod.DeletionTimestamp.IsZero() || controller != nil && controller.Kind == "StatefulSet"
}

// Waiting are copies of the pods that Karpenter would plan nodes for, with what is attached
// for them.
func Waiting(pods []*corev1.Pod, attached map[types.UID][]string) (pending []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() && !podutils.IsTerminal(pod) &&
			len(pod.Spec.SchedulingGates) == 0 && !podutils.IsOwnedByDaemonSet(pod) && !Mirrors(pod) {
			pending = append(pending, Slim(pod, attached[pod.UID]).DeepCopy())
		}
	}
	slices.SortFunc(pending, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return pending
}

// Slim is a pod with no volumes but those that are attached for it.
func Slim(pod *corev1.Pod, attached []string) *corev1.Pod {
	copied := *pod
	storage.Attached{Shared: attached}.To(&copied)
	return &copied
}

// Selects reports whether one of the terms of a pod is for a node with the labels.
func Selects(pod *corev1.Pod, labels reqs.Requirements) bool {
	terms := 1
	affinity := pod.Spec.Affinity
	if affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms = len(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
	}
	pod = pod.DeepCopy()
	for range terms {
		if labels.Compatible(reqs.NewStrictPodRequirements(pod)) == nil {
			return true
		}
		if terms > 1 {
			required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			required.NodeSelectorTerms = required.NodeSelectorTerms[1:]
		}
	}
	return false
}

// Leaving picks n pods of a workload that leave first: those without a node, then one after
// the other from the node that has the most of them.
func Leaving(pods []*corev1.Pod, n int) (leave []*corev1.Pod) {
	on := map[string][]*corev1.Pod{}
	var nodes []string
	for _, pod := range pods {
		if on[pod.Spec.NodeName] == nil {
			nodes = append(nodes, pod.Spec.NodeName)
		}
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	for len(leave) < n {
		most := slices.MaxFunc(nodes, func(a, b string) int {
			without := func(node string) bool { return node == "" && len(on[node]) > 0 }
			if without(a) != without(b) {
				return map[bool]int{true: 1, false: -1}[without(a)]
			}
			return cmp.Compare(len(on[a]), len(on[b]))
		})
		last := len(on[most]) - 1
		leave, on[most] = append(leave, on[most][last]), on[most][:last]
	}
	return leave
}
