package simulate

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
)

// spread places pods that Karpenter leaves without a node because of their topology spread constraints. It places
// them on existing nodes, and reports whether it placed any.
//
// Karpenter (v1.15.0, TopologyGroup.domainMinCount) assumes that an empty node can always be added, so that no node
// may have more than maxSkew of such pods. If a limit prevents new nodes, kube-scheduler compares only the existing
// nodes, and places the pods on them. All other rules for a pod are left to Karpenter's scheduler.
func (w *cluster) spread(ctx context.Context, pending []*corev1.Pod) (placed bool, err error) {
	var known *state.Cluster
	failed := map[int]bool{} // workloads whose next pod has no node: then their other pods have none either
	for _, pod := range pending {
		overNodes := spreadsOverNodes(pod)
		if len(overNodes) == 0 || w.podReasons[pod.UID] != "" || failed[w.workloadOf[pod.UID]] {
			continue
		}
		nodes := w.evenNodes(pod, overNodes)
		if len(nodes) == 0 {
			failed[w.workloadOf[pod.UID]] = true
			continue
		}
		if known == nil {
			if known, err = w.karpenterState(withSettings(ctx)); err != nil {
				return placed, err
			}
		}
		node, err := w.fits(withSettings(ctx), known, pod, nodes)
		if err != nil {
			return placed, err
		}
		failed[w.workloadOf[pod.UID]] = node == ""
		if node == "" {
			continue
		}
		w.store.Bind(pod, node)
		if err := known.UpdatePod(withSettings(ctx), pod); err != nil {
			return placed, err
		}
		placed = true
	}
	return placed, nil
}

const beyondSkew = "its pods spread over nodes, and each node already has as many of them as maxSkew allows."

// withinSkew divides the pods that Karpenter plans for a node into those that keep to maxSkew, together with the
// pods that the node already has, and those that exceed it. When Karpenter (v1.15.0, Topology.Update) relaxes a
// preference of a pod, such as adding a toleration of a PreferNoSchedule taint, it starts to count again from zero
// and forgets the pods that it has planned. kube-scheduler does not run the extra pods there.
func withinSkew(planned, has []*corev1.Pod) (within, beyond []*corev1.Pod) {
	has = slices.Clone(has)
	for _, pod := range planned {
		breaks := slices.ContainsFunc(spreadsOverNodes(pod), func(c corev1.TopologySpreadConstraint) bool {
			selector, n := selectorOf(pod, c), int32(0)
			for _, other := range append(has, pod) {
				if selectsPod(selector, pod, other) {
					n++
				}
			}
			return n > c.MaxSkew
		})
		if breaks {
			beyond = append(beyond, pod)
			continue
		}
		within, has = append(within, pod), append(has, pod)
	}
	return within, beyond
}

// selectsPod reports whether the selector of a pod's constraint counts another pod.
func selectsPod(selector labels.Selector, pod, other *corev1.Pod) bool {
	return other.Namespace == pod.Namespace && other.DeletionTimestamp.IsZero() && selector.Matches(labels.Set(other.Labels))
}

// spreadsOverNodes returns the required constraints of a pod that spread it over nodes.
func spreadsOverNodes(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	return slices.DeleteFunc(slices.Clone(pod.Spec.TopologySpreadConstraints), func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey != corev1.LabelHostname || c.WhenUnsatisfiable != corev1.DoNotSchedule
	})
}

// evenNodes returns the names of the nodes on which a pod satisfies each constraint, by kube-scheduler's rule
// (PodTopologySpread): at most maxSkew pods more than the node with the fewest. Nodes with the fewest pods come
// first.
func (w *cluster) evenNodes(pod *corev1.Pod, constraints []corev1.TopologySpreadConstraint) (names []string) {
	for i, c := range constraints {
		selector := selectorOf(pod, c)
		most, least, compared := int(c.MaxSkew), -1, 0
		if selector.Matches(labels.Set(pod.Labels)) {
			most--
		}
		count := map[string]int{}
		for name, node := range w.store.Nodes {
			if !w.counts(pod, c, node) {
				continue
			}
			for _, other := range w.store.Bound[name] {
				if selectsPod(selector, pod, other) {
					count[name]++
				}
			}
			compared++
			if least < 0 || count[name] < least {
				least = count[name]
			}
			if i == 0 {
				names = append(names, name)
			}
		}
		if compared < int(ptr.Deref(c.MinDomains, 1)) {
			least = 0
		}
		names = slices.DeleteFunc(names, func(name string) bool { return count[name]-least > most })
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) })
	}
	return names
}

// selectorOf returns the selector of the pods that a constraint counts.
func selectorOf(pod *corev1.Pod, c corev1.TopologySpreadConstraint) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil { // the API server rejects such pods
		return labels.Nothing()
	}
	for _, key := range c.MatchLabelKeys {
		if value, has := pod.Labels[key]; has {
			also, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
			selector = selector.Add(also...)
		}
	}
	return selector
}

// counts reports whether a constraint counts a node: the node has the topology labels of all required constraints,
// and matches the pod.
func (w *cluster) counts(pod *corev1.Pod, c corev1.TopologySpreadConstraint, node *corev1.Node) bool {
	for _, other := range pod.Spec.TopologySpreadConstraints {
		if _, has := node.Labels[other.TopologyKey]; !has && other.WhenUnsatisfiable == corev1.DoNotSchedule {
			return false
		}
	}
	if ptr.Deref(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor &&
		!selectsNode(pod, reqs.NewLabelRequirements(node.Labels)) {
		return false
	}
	return ptr.Deref(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyIgnore ||
		reqs.Taints(node.Spec.Taints).ToleratesPod(withSoftTaints(pod)) == nil
}

// fits returns the first node on which Karpenter's scheduler places a pod if spreading is ignored; "" if there is
// none.
func (w *cluster) fits(ctx context.Context, known *state.Cluster, pod *corev1.Pod, names []string) (string, error) {
	pod = withSoftTaints(pod)
	pod.Spec.TopologySpreadConstraints = slices.DeleteFunc(pod.Spec.TopologySpreadConstraints,
		func(c corev1.TopologySpreadConstraint) bool { return c.TopologyKey == corev1.LabelHostname })
	all, byName := state.StateNodes{}, map[string]*state.StateNode{}
	for n := range known.Nodes() {
		all, byName[n.Name()] = append(all, n), n
	}
	all = all.Active()
	for few := range slices.Chunk(names, 8) { // usually the first one fits, and the scheduler copies each
		var nodes state.StateNodes
		for _, name := range few {
			if n := byName[name]; n != nil {
				nodes = append(nodes, n.DeepCopy())
			}
		}
		topology, err := scheduling.NewTopology(ctx, w.store, known, all, nil, nil, []*corev1.Pod{pod})
		if err != nil {
			return "", err
		}
		s := scheduling.NewScheduler(ctx, w.store, nil, known, nodes.Active(), topology, nil, w.copies(), poolsLeftOut{}, w.clock, nil,
			nil)
		results, err := s.Solve(ctx, []*corev1.Pod{pod})
		if err != nil {
			return "", err
		}
		for _, node := range results.ExistingNodes {
			if len(node.Pods) > 0 {
				return node.Name(), nil
			}
		}
	}
	return "", nil
}

// withSoftTaints returns a copy of a pod that tolerates PreferNoSchedule taints, which keep no pod from a node.
// Karpenter's scheduler adds this toleration only if one of its pools has such a taint, and here it has no pools.
func withSoftTaints(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
		Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule,
	})
	return pod
}
