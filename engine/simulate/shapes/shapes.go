// Package shapes is what decides which node a pod gets, and nothing else of it: pods of a
// cluster as the scheduler sees them, so that they can be planned for elsewhere.
//
// It is pure: lists come in, shapes go out. What is not known to matter is left out.
package shapes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// Cluster is what of a cluster has pods.
type Cluster struct {
	Pods       []corev1.Pod
	DaemonSets []appsv1.DaemonSet
	Namespaces []corev1.Namespace // which selectors of namespaces choose from
	Budgets    []policyv1.PodDisruptionBudget
	Storage    *simulate.VolumeIndex // where the claims of pods lead; nil where that is not known
}

// Set is the shapes of the pods of a cluster.
type Set struct {
	Pods       []Shape  `json:"pods"`
	DaemonSets []Shape  `json:"daemon_sets"` // whose pods each node has that they are for
	Budgets    []Budget `json:"budgets"`     // PodDisruptionBudgets
	Notes      []string `json:"notes"`       // which pods do not count
}

// Shape is so many pods of one owner that are alike.
type Shape struct {
	Owner       string              `json:"owner"` // Deployment web/api
	Count       int                 `json:"count"` // of pods; 0 for DaemonSets
	Namespace   string              `json:"namespace"`
	Labels      map[string]string   `json:"labels,omitempty"` // those that some pod is placed by
	Annotations map[string]string   `json:"annotations,omitempty"`
	Volumes     simulate.Attached   `json:"volumes,omitzero"` // of Linode, that a node attaches for each
	Waits       *simulate.ClaimWait `json:"waits,omitempty"`  // for a claim: no node is made for them
	Spec        corev1.PodSpec      `json:"spec"`
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Name      string                           `json:"name"` // with its namespace
	Namespace string                           `json:"namespace"`
	Spec      policyv1.PodDisruptionBudgetSpec `json:"spec"`
}

// Of are the shapes of all pods that are to have a node, whether they have one or wait.
func Of(c Cluster) Set {
	set := Set{Pods: []Shape{}, DaemonSets: []Shape{}, Budgets: []Budget{}, Notes: []string{}}
	d := digest{namespaces: c.Namespaces, labels: map[string]bool{}}
	for i := range c.Pods {
		d.look(c.Pods[i].Spec)
	}
	claimed := claims(c)
	for i := range c.DaemonSets {
		d.look(c.DaemonSets[i].Spec.Template.Spec)
	}
	for i := range c.Budgets {
		b := c.Budgets[i].DeepCopy()
		d.selects(b.Spec.Selector)
		set.Budgets = append(set.Budgets, Budget{b.Namespace + "/" + b.Name, b.Namespace, b.Spec})
	}
	left, known := 0, map[string]int{}
	for i := range c.Pods {
		pod := &c.Pods[i]
		if simulate.IsMirror(pod) && !podutils.IsTerminal(pod) {
			left++
		}
		if simulate.NeedsNode(pod) {
			shape := d.shape(simulate.Owner(pod), pod.Namespace, pod.ObjectMeta, pod.Spec)
			shape.Volumes, shape.Waits = claimed.of(pod)
			key := shape.key()
			if _, seen := known[key]; !seen {
				known[key] = len(set.Pods)
				set.Pods = append(set.Pods, shape)
			}
			set.Pods[known[key]].Count++
		}
	}
	for i := range c.DaemonSets {
		s := &c.DaemonSets[i]
		set.DaemonSets = append(set.DaemonSets,
			d.shape("DaemonSet "+s.Namespace+"/"+s.Name, s.Namespace, s.Spec.Template.ObjectMeta, s.Spec.Template.Spec))
	}
	set.sort()
	if left > 0 {
		set.Notes = append(set.Notes, fmt.Sprintf("Left out: %s that the kubelet of a node runs by itself.",
			simulate.Count(left, "pod")))
	}
	if d.blind {
		set.Notes = append(set.Notes, "Selectors of namespaces choose none: the namespaces are not known.")
	}
	return set
}

// key is equal for equal shapes, however many pods have them.
func (s Shape) key() string {
	s.Count = 0
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has been read from JSON
	}
	return string(text)
}

// sort brings shapes into an order that does not depend on that of the pods.
func (s *Set) sort() {
	slices.SortFunc(s.Budgets, func(a, b Budget) int { return cmp.Compare(a.Name, b.Name) })
	for _, list := range [][]Shape{s.Pods, s.DaemonSets} {
		keys := make(map[int]string, len(list))
		order := make([]int, len(list))
		for i := range list {
			order[i], keys[i] = i, list[i].key()
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(list[a].Owner, list[b].Owner), cmp.Compare(keys[a], keys[b]))
		})
		sorted := make([]Shape, len(list))
		for i, from := range order {
			sorted[i] = list[from]
		}
		copy(list, sorted)
	}
}
