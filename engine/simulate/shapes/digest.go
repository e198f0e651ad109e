package shapes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// digest reduces pods to their shapes.
type digest struct {
	namespaces []corev1.Namespace
	labels     map[string]bool // by which some pod is placed
	blind      bool            // some pod selects namespaces, and none is known
}

// look notes by which labels of its fellows a pod is placed.
func (d *digest) look(spec corev1.PodSpec) {
	for _, c := range spec.TopologySpreadConstraints {
		d.selects(c.LabelSelector, c.MatchLabelKeys)
	}
	for _, term := range terms(spec.Affinity) {
		d.selects(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys)
		d.blind = d.blind || term.NamespaceSelector != nil && len(d.namespaces) == 0
	}
}

func (d *digest) selects(selector *metav1.LabelSelector, keys ...[]string) {
	for _, key := range slices.Concat(keys...) {
		d.labels[key] = true
	}
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		d.labels[key] = true
	}
	for _, r := range selector.MatchExpressions {
		d.labels[r.Key] = true
	}
}

// terms are all that an affinity says of other pods, to be changed in place.
func terms(a *corev1.Affinity) (list []*corev1.PodAffinityTerm) {
	if a == nil {
		return nil
	}
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			list = append(list, &required[i])
		}
		for i := range preferred {
			list = append(list, &preferred[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return list
}

// shape is a pod without what does not decide where it goes.
func (d *digest) shape(owner, namespace string, meta metav1.ObjectMeta, spec corev1.PodSpec) Shape {
	s := Shape{Owner: owner, Namespace: namespace, Labels: maps.Clone(meta.Labels), Spec: d.spec(spec)}
	maps.DeleteFunc(s.Labels, func(key, _ string) bool { return !d.labels[key] })
	for _, key := range []string{karpv1.DoNotDisruptAnnotationKey, corev1.PodDeletionCost} {
		if value, ok := meta.Annotations[key]; ok {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[key] = value
		}
	}
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	return s
}

// spec takes over what is known to matter.
func (d *digest) spec(from corev1.PodSpec) corev1.PodSpec {
	from = *from.DeepCopy()
	simulate.DefaultHostPorts(&from)
	for _, term := range terms(from.Affinity) {
		d.resolve(term)
	}
	spec := corev1.PodSpec{
		InitContainers: containers(from.InitContainers), Containers: containers(from.Containers),
		Resources: from.Resources, Overhead: from.Overhead, Priority: from.Priority,
		NodeSelector: from.NodeSelector, Affinity: from.Affinity, Tolerations: from.Tolerations,
		TopologySpreadConstraints: from.TopologySpreadConstraints,
	}
	if len(from.SchedulingGates) > 0 {
		spec.SchedulingGates = from.SchedulingGates[:1] // one is enough
	}
	if len(from.ResourceClaims) > 0 {
		spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim"}}
	}
	if spec.Resources != nil {
		spec.Resources.Claims = nil
	}
	return spec
}

// resolve replaces a selector of namespaces by those that it chooses.
func (d *digest) resolve(term *corev1.PodAffinityTerm) {
	if term.NamespaceSelector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return // the API server takes no such selector
	}
	for _, ns := range d.namespaces {
		if selector.Matches(labels.Set(ns.Labels)) && !slices.Contains(term.Namespaces, ns.Name) {
			term.Namespaces = append(term.Namespaces, ns.Name)
		}
	}
	slices.Sort(term.Namespaces)
	if term.NamespaceSelector = nil; len(term.Namespaces) == 0 {
		term.Namespaces = []string{"-"} // none: an empty list would be the pod's own
	}
}

// containers keep what they ask for. Their names are by their places.
func containers(from []corev1.Container) (list []corev1.Container) {
	for _, c := range from {
		c.Resources.Claims = nil
		kept := corev1.Container{Name: "c", Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				kept.Ports = append(kept.Ports, corev1.ContainerPort{
					HostPort: port.HostPort, ContainerPort: port.HostPort, Protocol: port.Protocol,
				})
			}
		}
		list = append(list, kept)
	}
	return list
}
