package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// Machine is a group of Nodes that differ only in their names and pods, as the scheduler sees them. Names of nodes,
// which Shape.On refers to, are never hashed.
type Machine struct {
	Labels      map[string]string   `json:"labels,omitempty"` // only labels that Kubernetes, Karpenter or some pod uses
	Annotations map[string]string   `json:"annotations,omitempty"`
	Kubelet     string              `json:"kubelet,omitempty"` // the version of the kubelet
	Taints      []corev1.Taint      `json:"taints,omitempty"`
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	Nodes       []string            `json:"nodes"`
}

// machines returns the nodes of a cluster as they are after all nodes have joined, and without those that are being
// deleted. A NodeClaim with a machine that has not joined gives its name to its node.
func (d *digest) machines(c cluster.Snapshot) (list []Machine) {
	claims, joined := map[string]*karpv1.NodeClaim{}, map[string]bool{}
	for _, nc := range c.Claims {
		claims[nc.Status.NodeName] = nc
	}
	known := map[string]int{}
	add := func(node *corev1.Node) {
		m := d.machine(node)
		text, err := json.Marshal(m)
		if err != nil {
			panic(err) // it was read from JSON
		}
		if _, seen := known[string(text)]; !seen {
			known[string(text)] = len(list)
			list = append(list, m)
		}
		i := known[string(text)]
		list[i].Nodes = append(list[i].Nodes, node.Name)
	}
	for _, node := range slices.SortedFunc(slices.Values(c.Nodes), byName) {
		nc := claims[node.Name]
		switch joined[node.Name] = true; {
		case !node.DeletionTimestamp.IsZero() || nc != nil && (!nc.DeletionTimestamp.IsZero() || nc.Status.ProviderID == ""):
		case nc != nil:
			add(simulate.Joined(nc, node))
		default:
			add(node)
		}
	}
	for _, nc := range slices.SortedFunc(slices.Values(c.Claims), byName) {
		if !joined[nc.Status.NodeName] && nc.DeletionTimestamp.IsZero() && nc.Status.ProviderID != "" {
			add(simulate.Joined(nc, nil))
		}
	}
	return list
}

func byName[T metav1.Object](a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) }

// machine returns a node without its name.
func (d *digest) machine(node *corev1.Node) Machine {
	m := Machine{Labels: map[string]string{}, Kubelet: node.Status.NodeInfo.KubeletVersion, Taints: slices.Clone(node.Spec.Taints),
		Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable}
	for key, value := range node.Labels {
		if (everybodyHas(key) || d.selected[key]) && (key != corev1.LabelHostname || value != node.Name) {
			m.Labels[key] = value
		}
	}
	if value, ok := node.Annotations[karpv1.DoNotDisruptAnnotationKey]; ok {
		m.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: value}
	}
	for i := range m.Taints {
		m.Taints[i].TimeAdded = nil
	}
	return m
}

// noteNodeLabels notes the node labels that a pod selects.
func (d *digest) noteNodeLabels(spec corev1.PodSpec) {
	for key := range spec.NodeSelector {
		d.selected[key] = true
	}
	for _, c := range spec.TopologySpreadConstraints {
		d.selected[c.TopologyKey] = true
	}
	for _, term := range simulate.AffinityTerms(spec.Affinity) {
		d.selected[term.TopologyKey] = true
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return
	}
	var terms []corev1.NodeSelectorTerm
	if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = required.NodeSelectorTerms
	}
	for _, p := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms[:len(terms):len(terms)], p.Preference)
	}
	for _, term := range terms {
		for _, r := range term.MatchExpressions {
			d.selected[r.Key] = true
		}
	}
}

// belongsToNode reports whether a pod belongs to its node: a pod of a DaemonSet, or a static pod.
func belongsToNode(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && !podutils.IsTerminal(pod) && pod.DeletionTimestamp.IsZero() &&
		(podutils.IsOwnedByDaemonSet(pod) || simulate.IsMirror(pod))
}

// knownWords returns the names of the nodes, and taints and labels that Kubernetes and Karpenter define.
func (s Shapes) knownWords() []string {
	list := []string{"true", "", karpv1.DisruptedTaintKey, corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}
	for _, m := range s.Machines {
		list = append(list, m.Nodes...)
	}
	return list
}

// machines translates the labels and taints of nodes.
func (t translator) machines(from []Machine) []Machine {
	var list []Machine
	for _, m := range from {
		m.Labels = translate(t, &metav1.LabelSelector{MatchLabels: m.Labels}).MatchLabels
		m.Annotations = plainAnnotations(m.Annotations)
		m.Capacity, m.Allocatable = t.resources(m.Capacity), t.resources(m.Allocatable)
		m.Taints = slices.Clone(m.Taints)
		for i := range m.Taints {
			m.Taints[i].Key, m.Taints[i].Value = t.key(m.Taints[i].Key), t(m.Taints[i].Value)
		}
		list = append(list, m)
	}
	return list
}

func (t translator) resources(from corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range from {
		list[corev1.ResourceName(t.resource(string(name)))] = amount
	}
	return list
}

// Cluster returns the cluster from which the shapes were read, as far as they describe it. claims are the
// NodeClaims by the names of their nodes; they get the sizes of the nodes.
func (s Shapes) Cluster(claims map[string]*karpv1.NodeClaim) simulate.Live {
	found := FromShapes(s)
	live := simulate.Live{Attached: map[types.UID][]string{}}
	live.Daemons, live.Budgets, live.Templates = found.DaemonSets, found.Budgets, found.Templates
	for _, m := range s.Machines {
		for _, name := range m.Nodes {
			node := &corev1.Node{Status: corev1.NodeStatus{Capacity: m.Capacity, Allocatable: m.Allocatable}}
			node.Name, node.Labels, node.Annotations, node.Spec.Taints = name, map[string]string{}, maps.Clone(m.Annotations), m.Taints
			maps.Copy(node.Labels, m.Labels)
			node.Status.NodeInfo.KubeletVersion = m.Kubelet
			if node.Labels[corev1.LabelHostname] == "" {
				node.Labels[corev1.LabelHostname] = name
			}
			if nc := claims[name]; nc != nil {
				node.Spec.ProviderID = nc.Status.ProviderID
				node.Labels[karpv1.NodeRegisteredLabelKey], node.Labels[karpv1.NodeInitializedLabelKey] = "true", "true"
				nc.Spec.Taints, nc.Status.Capacity, nc.Status.Allocatable, nc.Status.NodeName = m.Taints, m.Capacity, m.Allocatable, name
				live.Claims = append(live.Claims, nc)
			}
			live.Nodes = append(live.Nodes, node)
		}
	}
	for i, shape := range slices.Concat(s.Pods, s.Fixed) {
		n, left := 0, shape.Count
		add := func(node string) {
			pod := &corev1.Pod{ObjectMeta: metaOf(shape), Spec: *shape.Spec.DeepCopy()}
			pod.Name = fmt.Sprintf("pod-%05d-%05d", i, n)
			pod.UID, pod.Spec.NodeName, pod.OwnerReferences = types.UID(pod.Name), node, ownersOf(shape.Owner, i)
			shape.Volumes.To(pod)
			for _, v := range pod.Spec.Volumes {
				live.Attached[pod.UID] = append(live.Attached[pod.UID], simulate.ClaimOf(pod.Name, v))
			}
			live.Pods = append(live.Pods, pod)
			n++
		}
		for _, node := range slices.Sorted(maps.Keys(shape.On)) {
			for range shape.On[node] {
				add(node)
			}
			left -= shape.On[node]
		}
		for range left {
			add("")
		}
	}
	return live
}

// ownersOf returns a controller reference for pods of a shape.
func ownersOf(owner string, shape int) []metav1.OwnerReference {
	kind, name, _ := strings.Cut(owner, " ")
	if kind == "Pod" {
		return nil
	}
	version := "apps/v1"
	if kind == "Node" {
		version = "v1"
	}
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name[strings.LastIndex(name, "/")+1:],
		UID: types.UID(fmt.Sprintf("%s-%d", name, shape)), Controller: ptr.To(true)}}
}
