package podlint

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
)

// labels finds pods that select labels which no pool sets.
func (c *podChecker) labels() {
	missing, unoffered := map[string][]string{}, map[string][]string{} // workloads by label
	for _, w := range c.in.Workloads {
		for _, key := range slices.Sorted(maps.Keys(selectedLabels(w.Pod.Spec))) {
			values := selectedLabels(w.Pod.Spec)[key]
			what := key
			if len(values) > 0 {
				what += "=" + joinFew(values)
			}
			switch {
			case onAllNodes(key):
				if !c.offered(key, values) {
					unoffered[what] = append(unoffered[what], w.Name)
				}
				continue
			case setsLabel(c.pools, key, values):
				continue
			}
			missing[what] = append(missing[what], w.Name)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		c.find(lint.LabelOfNoPool, config.Addr{}, "",
			"No pool sets %s, by which these pods select nodes: %s.", what, joinFew(missing[what]))
	}
	for _, what := range slices.Sorted(maps.Keys(unoffered)) {
		c.find(lint.LabelOfNoPool, config.Addr{}, "",
			"No pool has nodes with %s, by which these pods select nodes: %s.", what, joinFew(unoffered[what]))
	}
}

// offered reports whether a plan type of a pool has one of the values of a label that all nodes have.
func (c *podChecker) offered(key string, values []string) bool {
	if key == corev1.LabelHostname || len(values) == 0 || len(c.types) == 0 {
		return true
	}
	return slices.ContainsFunc(c.pools, func(p pool) bool {
		if key == karpv1.NodePoolLabelKey {
			return slices.Contains(values, p.Name)
		}
		want := maps.Clone(instancetype.RequirementsOf(p.NodePool))
		allowed := instancetype.Candidates(c.types, want, nil)
		want.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...))
		return len(allowed) == 0 || len(instancetype.Candidates(c.types, want, nil)) > 0
	})
}

// selectedLabels returns the labels that a pod requires of its node, with the allowed values; none for any.
func selectedLabels(spec corev1.PodSpec) map[string][]string {
	all := map[string][]string{}
	for key, value := range spec.NodeSelector {
		all[key] = []string{value}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return all
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) != 1 {
		return all // one of several terms is enough, which the simulation checks
	}
	for _, r := range required.NodeSelectorTerms[0].MatchExpressions {
		switch r.Operator {
		case corev1.NodeSelectorOpIn:
			all[r.Key] = r.Values
		case corev1.NodeSelectorOpExists:
			all[r.Key] = nil
		}
	}
	return all
}

// spreads finds pods that are spread over a label, or placed near others by a label, that nodes do not have.
func (c *podChecker) spreads() {
	missing := map[string][]string{} // workloads by how they are placed
	for _, w := range c.in.Workloads {
		for _, t := range podTopologies(w.Pod.Spec) {
			if !onAllNodes(t.key) && !setsLabel(c.poolsFor(w.Pod), t.key, nil) {
				missing[t.what] = append(missing[t.what], w.Name)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		c.find(lint.SpreadOverNoPool, config.Addr{}, "",
			"These pods must %s, but no pool for them sets that label, so they stay pending: %s.", what, joinFew(missing[what]))
	}
}

// topology is a label that a node must have because of a spread or an affinity of a pod.
type topology struct{ key, what string }

// podTopologies returns the distinct topologies of a pod.
func podTopologies(spec corev1.PodSpec) (all []topology) {
	for _, s := range spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			all = append(all, topology{s.TopologyKey, "be spread over " + s.TopologyKey})
		}
	}
	if spec.Affinity != nil && spec.Affinity.PodAffinity != nil {
		for _, term := range spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			all = append(all, topology{term.TopologyKey, "be near other pods by " + term.TopologyKey})
		}
	}
	slices.SortFunc(all, func(a, b topology) int { return cmp.Compare(a.what, b.what) })
	return slices.Compact(all)
}

// poolsFor returns the pools that match a pod by labels and taints; all pools if none does.
func (c *podChecker) poolsFor(pod corev1.Pod) (pools []pool) {
	for _, p := range c.pools {
		if _, ok := instancetype.ForPod(p.NodePool, &pod); ok {
			pools = append(pools, p)
		}
	}
	if len(pools) == 0 {
		return c.pools
	}
	return pools
}

// onAllNodes reports whether all nodes have a label even if no pool sets it.
func onAllNodes(key string) bool {
	_, alias := karpv1.NormalizedLabels[key]
	return alias || karpv1.WellKnownLabels.Has(key) || key == corev1.LabelHostname
}

// setsLabel reports whether a pool sets a label to one of the values, or to any value if there are none.
func setsLabel(pools []pool, key string, values []string) bool {
	return slices.ContainsFunc(pools, func(p pool) bool {
		label, labelled := p.Spec.Template.Labels[key]
		required := scheduling.NewNodeSelectorRequirementsWithMinValues(p.Spec.Template.Spec.Requirements...)
		if !labelled && (!required.Has(key) || required.Get(key).Operator() == corev1.NodeSelectorOpDoesNotExist) {
			return false
		}
		return len(values) == 0 || slices.ContainsFunc(values, func(value string) bool {
			return labelled && label == value || !labelled && required.Get(key).Has(value)
		})
	})
}

// inPlace finds labels that change in place, and that decide where pods run: a change of such a label moves no pod.
func (c *podChecker) inPlace() {
	for _, p := range c.pools {
		for _, key := range inplace.Keys(p.NodePool) {
			if _, label := p.Spec.Template.Labels[key]; !label {
				continue
			}
			var users []string
			for _, w := range c.in.Workloads {
				if how := inplace.Uses(w.Pod.Spec)[key]; how != "" {
					users = append(users, w.Name+" ("+how+")")
				}
			}
			for _, set := range c.in.DaemonSets {
				if how := inplace.Uses(set.Spec.Template.Spec)[key]; how != "" {
					users = append(users, "DaemonSet "+set.Namespace+"/"+set.Name+" ("+how+")")
				}
			}
			if len(users) > 0 {
				c.find(lint.InPlaceSelected, p.addr, "metadata.annotations."+schemas.AnnotationInPlace,
					"The label %s changes in place, and a change does not move pods. But it decides where these pods run: %s.", key, joinFew(users))
			}
		}
	}
}
