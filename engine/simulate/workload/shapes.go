package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Shapes is the part of a cluster that decides which nodes its pods get, so that a simulation elsewhere has the
// same result: pods and nodes as the scheduler sees them, without fields that are not known to matter.
type Shapes struct {
	Pods       []Shape   `json:"pods"`
	DaemonSets []Shape   `json:"daemon_sets"` // their pods run on every node that matches
	Fixed      []Shape   `json:"node_pods"`   // pods that belong to their nodes: static pods, and pods of DaemonSets
	Machines   []Machine `json:"machines"`    // the nodes; nil if they could not be listed
	Budgets    []Budget  `json:"budgets"`     // PodDisruptionBudgets
	// Templates are the objects to which CapacityBuffers refer; Count is the number of their replicas.
	Templates []Shape  `json:"templates,omitempty"`
	Notes     []string `json:"notes"` // which pods were ignored
	// Namespaces are those of the pods in clear text, if the user who took the snapshot asked for them.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Shape is a number of identical pods of one owner.
type Shape struct {
	Owner       string              `json:"owner"`        // such as Deployment web/api
	Count       int                 `json:"count"`        // number of pods; 0 for DaemonSets
	On          map[string]int      `json:"on,omitempty"` // how many of them run on each node, by its name
	Namespace   string              `json:"namespace"`
	Labels      map[string]string   `json:"labels,omitempty"` // only labels that some pod selects
	Annotations map[string]string   `json:"annotations,omitempty"`
	Volumes     simulate.Attached   `json:"volumes,omitzero"` // Linode volumes that a node attaches for each pod
	Waits       *simulate.ClaimWait `json:"waits,omitempty"`  // the claim for which the pods wait, so that they get no node
	Spec        corev1.PodSpec      `json:"spec"`
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Name      string                           `json:"name"` // namespace/name
	Namespace string                           `json:"namespace"`
	Spec      policyv1.PodDisruptionBudgetSpec `json:"spec"`
}

// ShapesOf returns the shapes of all pods that need a node, whether they are bound or pending. index finds the
// volumes of their claims; nil if volumes are unknown. templates are those of buffers.
func ShapesOf(c cluster.Snapshot, index *simulate.VolumeIndex, templates ...simulate.Template) Shapes {
	set := Shapes{Pods: []Shape{}, DaemonSets: []Shape{}, Fixed: []Shape{}, Budgets: []Budget{}, Notes: []string{}}
	d := digest{namespaces: c.Namespaces, labels: map[string]bool{}, selected: map[string]bool{}}
	for _, pod := range c.Pods {
		d.notePodLabels(pod.Spec)
	}
	for _, t := range templates {
		d.notePodLabels(t.Pods.Spec)
	}
	claimed := claimsOf(c.Pods, index)
	for _, s := range c.Daemons {
		d.notePodLabels(s.Spec.Template.Spec)
	}
	for _, b := range c.Budgets {
		d.selects(b.Spec.Selector)
		set.Budgets = append(set.Budgets, Budget{b.Namespace + "/" + b.Name, b.Namespace, *b.Spec.DeepCopy()})
	}
	left, known := 0, map[string]int{}
	add := func(list *[]Shape, shape Shape, node string) {
		key := shape.key()
		if _, seen := known[key]; !seen {
			known[key] = len(*list)
			*list = append(*list, shape)
		}
		same := &(*list)[known[key]]
		same.Count++
		if node == "" {
			return
		}
		if same.On == nil {
			same.On = map[string]int{}
		}
		same.On[node]++
	}
	for _, pod := range c.Pods {
		if simulate.IsMirror(pod) && !podutils.IsTerminal(pod) {
			left++
		}
		switch {
		case simulate.NeedsNode(pod):
			shape := d.shape(simulate.Owner(pod), pod.Namespace, pod.ObjectMeta, pod.Spec)
			shape.Volumes, shape.Waits = claimed.volumesOf(pod)
			add(&set.Pods, shape, pod.Spec.NodeName)
		case belongsToNode(pod):
			owner := simulate.Owner(pod)
			if simulate.IsMirror(pod) { // each belongs to another node
				owner = "Node " + pod.Namespace + "/static"
			}
			add(&set.Fixed, d.shape(owner, pod.Namespace, pod.ObjectMeta, pod.Spec), pod.Spec.NodeName)
		}
	}
	set.Machines = d.machines(c)
	for _, s := range c.Daemons {
		set.DaemonSets = append(set.DaemonSets,
			d.shape("DaemonSet "+s.Namespace+"/"+s.Name, s.Namespace, s.Spec.Template.ObjectMeta, s.Spec.Template.Spec))
	}
	for _, t := range templates {
		shape := d.shape(t.Key.Kind+" "+t.Key.Namespace+"/"+t.Key.Name, t.Key.Namespace, t.Pods.ObjectMeta, t.Pods.Spec)
		shape.Count = int(t.Replicas)
		set.Templates = append(set.Templates, shape)
	}
	set.sort()
	if left > 0 {
		set.Notes = append(set.Notes, fmt.Sprintf("Left out: %s that the kubelet of a node runs itself.",
			text.Count(left, "pod")))
	}
	if d.blind {
		set.Notes = append(set.Notes, "Namespace selectors match nothing, because the namespaces are unknown.")
	}
	return set
}

// NamespaceNames returns the namespaces of the pods.
func (s Shapes) NamespaceNames() []string {
	names := map[string]bool{}
	for _, shape := range s.Pods {
		names[shape.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// key is equal for shapes that differ only in the number of pods and where they run. It is JSON, in which equal amounts
// have the same text, and the order of keys decides the order of pods: the same in a cluster, a cache and a snapshot.
func (s Shape) key() string {
	s.Count, s.On = 0, nil
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return string(text)
}

// sort sorts shapes into an order that does not depend on the order of the pods.
func (s *Shapes) sort() {
	slices.SortFunc(s.Budgets, func(a, b Budget) int { return cmp.Compare(a.Name, b.Name) })
	for _, list := range [][]Shape{s.Pods, s.DaemonSets, s.Fixed} {
		slices.SortFunc(list, func(a, b Shape) int {
			if a.Owner != b.Owner { // few shapes share an owner, and computing keys takes time
				return cmp.Compare(a.Owner, b.Owner)
			}
			return cmp.Compare(a.key(), b.key())
		})
	}
}

// digest converts pods to shapes.
type digest struct {
	namespaces []*corev1.Namespace
	labels     map[string]bool // pod labels that some pod selects
	selected   map[string]bool // node labels that some pod selects
	blind      bool            // some pod selects namespaces, and the namespaces are unknown
}

// notePodLabels notes the pod labels that a pod selects.
func (d *digest) notePodLabels(spec corev1.PodSpec) {
	d.noteNodeLabels(spec)
	for _, c := range spec.TopologySpreadConstraints {
		d.selects(c.LabelSelector, c.MatchLabelKeys)
	}
	for _, term := range simulate.AffinityTerms(spec.Affinity) {
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

// shape returns a pod without the fields that do not decide where it runs.
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

// spec copies the fields that are known to matter.
func (d *digest) spec(from corev1.PodSpec) corev1.PodSpec {
	from = *from.DeepCopy()
	simulate.DefaultPod(&from)
	for _, term := range simulate.AffinityTerms(from.Affinity) {
		d.resolve(term)
	}
	spec := corev1.PodSpec{
		InitContainers: containerRequests(from.InitContainers), Containers: containerRequests(from.Containers),
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

// resolve replaces a namespace selector with the namespaces that it selects.
func (d *digest) resolve(term *corev1.PodAffinityTerm) {
	if term.NamespaceSelector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return // the API server rejects such a selector
	}
	for _, ns := range d.namespaces {
		if selector.Matches(labels.Set(ns.Labels)) && !slices.Contains(term.Namespaces, ns.Name) {
			term.Namespaces = append(term.Namespaces, ns.Name)
		}
	}
	slices.Sort(term.Namespaces)
	term.NamespaceSelector = nil
	if len(term.Namespaces) == 0 {
		term.Namespaces = []string{"-"} // no namespace: an empty list would mean the pod's own
	}
}

// containerRequests copies the requests and ports of containers, and names the containers by their positions.
func containerRequests(from []corev1.Container) (list []corev1.Container) {
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

// podClaims knows the volumes and claims of the pods of a cluster.
type podClaims struct {
	index    *simulate.VolumeIndex
	attached map[types.UID][]string
	by       map[string]int // number of pods that use the same claim, by namespace/name
}

// claimsOf reads the claims of all pods that count.
func claimsOf(pods []*corev1.Pod, index *simulate.VolumeIndex) podClaims {
	all := podClaims{index, map[types.UID][]string{}, map[string]int{}}
	for _, pod := range pods {
		if index != nil && simulate.NeedsNode(pod) {
			names := index.Attach(context.Background(), pod)
			all.attached[pod.UID] = names
			for _, name := range names {
				all.by[name]++
			}
		}
	}
	return all
}

// volumesOf returns the volumes of a pod, and the claim for which it waits. A bound pod waits for none.
func (c podClaims) volumesOf(pod *corev1.Pod) (volumes simulate.Attached, waits *simulate.ClaimWait) {
	for _, name := range c.attached[pod.UID] {
		if c.by[name] > 1 {
			volumes.Shared = append(volumes.Shared, name)
		} else {
			volumes.Own++
		}
	}
	if c.index != nil && pod.Spec.NodeName == "" {
		waits, _ = c.index.Ready(context.Background(), pod) // the error repeats it with more names
	}
	return volumes, waits
}

// FromShapes returns the pods of a cluster from its shapes.
func FromShapes(set Shapes) Found {
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
	for _, s := range set.Templates {
		t := simulate.Template{Replicas: int32(s.Count), Pods: corev1.PodTemplateSpec{ObjectMeta: metaOf(s), Spec: s.Spec}}
		var name string
		t.Key.Kind, name, _ = strings.Cut(s.Owner, " ")
		t.Key.Namespace, t.Key.Name, _ = strings.Cut(name, "/")
		found.Templates = append(found.Templates, t)
	}
	for _, b := range set.Budgets {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace}, Spec: b.Spec}
		budget.Name = b.Name[strings.LastIndex(b.Name, "/")+1:]
		found.Budgets = append(found.Budgets, budget)
	}
	return found
}

func metaOf(s Shape) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Labels: s.Labels, Annotations: s.Annotations}
}
