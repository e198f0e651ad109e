package podset

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Check is an error where what a pod says of its place is nothing that an API server takes:
// Karpenter relies on that.
func Check(spec corev1.PodSpec) error {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if _, err := labels.NewRequirement(key, selection.In, []string{spec.NodeSelector[key]}); err != nil {
			return fmt.Errorf("its nodeSelector: %q: %q is no label", key, spec.NodeSelector[key])
		}
	}
	for _, t := range spec.Tolerations {
		if err := tolerates(t); err != nil {
			return fmt.Errorf("its tolerations: %w", err)
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		if err := spreads(c); err != nil {
			return fmt.Errorf("its topologySpreadConstraints: %w", err)
		}
	}
	if a := spec.Affinity; a != nil {
		return errors.Join(nodes(a.NodeAffinity), fellows(a))
	}
	return nil
}

func tolerates(t corev1.Toleration) error {
	operators := []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists,
		corev1.TolerationOpLt, corev1.TolerationOpGt}
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
		corev1.TaintEffectNoExecute}
	switch {
	case !slices.Contains(operators, t.Operator):
		return fmt.Errorf("there is no operator %q", t.Operator)
	case !slices.Contains(effects, t.Effect):
		return fmt.Errorf("there is no effect %q", t.Effect)
	case t.Key == "" && t.Operator != corev1.TolerationOpExists:
		return errors.New("without a key the operator must be Exists")
	}
	return nil
}

func spreads(c corev1.TopologySpreadConstraint) error {
	_, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	switch {
	case err != nil:
		return errors.New(step.Plain(err.Error()))
	case c.MaxSkew < 1:
		return fmt.Errorf("maxSkew is %d, and must be more than zero", c.MaxSkew)
	case c.TopologyKey == "":
		return errors.New("there is no topologyKey")
	case c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
		return fmt.Errorf("whenUnsatisfiable is %q, and must be DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	}
	return nil
}

// nodes checks the terms of an affinity to nodes.
func nodes(a *corev1.NodeAffinity) error {
	if a == nil {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms = slices.Clone(required.NodeSelectorTerms)
	}
	for _, preferred := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, preferred.Preference)
	}
	for _, term := range terms {
		for i, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			operator, known := operators[r.Operator]
			if !known {
				return fmt.Errorf("its nodeAffinity: there is no operator %q", r.Operator)
			}
			if i >= len(term.MatchExpressions) {
				continue // names of nodes are no values of labels
			}
			if _, err := labels.NewRequirement(r.Key, operator, r.Values); err != nil {
				return fmt.Errorf("its nodeAffinity: %q %s %q is not to be met by labels", r.Key, r.Operator, r.Values)
			}
		}
	}
	return nil
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// fellows checks the terms of affinities to other pods.
func fellows(a *corev1.Affinity) error {
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, p := range preferred {
			terms = append(terms, p.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, term := range terms {
		for _, selector := range []*metav1.LabelSelector{term.LabelSelector, term.NamespaceSelector} {
			if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
				return errors.New("its affinity to pods: " + step.Plain(err.Error()))
			}
		}
		if term.TopologyKey == "" {
			return errors.New("its affinity to pods: there is no topologyKey")
		}
	}
	return nil
}
