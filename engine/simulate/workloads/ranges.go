package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// limitRange reads a LimitRange. Those of a namespace are in the order of their names; in a
// cluster the order is not defined.
func (r *reader) limitRange(o Object) error {
	found, err := typed[corev1.LimitRange](r, o)
	if err != nil {
		return err
	}
	namespace := keyOf(o.Fields).namespace
	for i := range found.Spec.Limits {
		item := &found.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest} {
			if err := positive("it says", list); err != nil {
				return err
			}
		}
		if item.Type == corev1.LimitTypeContainer {
			fill(&item.Default, item.Max)
			fill(&item.DefaultRequest, item.Default)
			fill(&item.DefaultRequest, item.Min)
		}
	}
	r.ranges[namespace] = append(r.ranges[namespace], found)
	slices.SortStableFunc(r.ranges[namespace], func(a, b corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// fill adds to a list what another has and it has not.
func fill(list *corev1.ResourceList, from corev1.ResourceList) {
	for name, q := range from {
		if _, there := (*list)[name]; !there {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[name] = q.DeepCopy()
		}
	}
}

// within gives pods what the LimitRanges of their namespace give those that do not say it, and
// says why none of them is made; "" where they are.
func (r *reader) within(namespace string, spec *corev1.PodSpec) (why string) {
	if len(r.ranges[namespace]) == 0 {
		return ""
	}
	simulate.DefaultRequests(spec)
	for _, found := range r.ranges[namespace] {
		for _, item := range found.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
				for i := range list {
					fill(&list[i].Resources.Limits, item.Default)
					fill(&list[i].Resources.Requests, item.DefaultRequest)
				}
			}
		}
	}
	for _, found := range r.ranges[namespace] {
		for _, item := range found.Spec.Limits {
			if why := beyond(item, *spec); why != "" {
				return fmt.Sprintf("none is made: LimitRange %s/%s %s.", namespace, found.Name, why)
			}
		}
	}
	return ""
}

// beyond says what of pods goes beyond a range; "" where nothing does.
func beyond(item corev1.LimitRangeItem, spec corev1.PodSpec) (why string) {
	switch item.Type {
	case corev1.LimitTypeContainer:
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if why := outside(item, "container "+c.Name, c.Resources.Requests, c.Resources.Limits); why != "" {
				return why
			}
		}
	case corev1.LimitTypePod:
		spec.Overhead = nil // which is not counted there
		all := resources.Ceiling(&corev1.Pod{Spec: spec})
		return outside(item, "a pod", all.Requests, all.Limits)
	}
	return ""
}

// outside says what of amounts goes beyond a range; "" where nothing does.
func outside(item corev1.LimitRangeItem, what string, requests, limits corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		limit, limited := limits[name]
		asked := requests[name]
		switch {
		case !limited:
			return fmt.Sprintf("wants a limit of %s, and %s has none", name, what)
		case limit.Cmp(most) > 0:
			return fmt.Sprintf("allows a limit of %s of %s, and %s has %s", most.String(), name, what, limit.String())
		case asked.Cmp(most) > 0:
			return fmt.Sprintf("allows to ask for %s of %s, and %s asks for %s", most.String(), name, what, asked.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		if asked := requests[name]; asked.Cmp(least) < 0 {
			return fmt.Sprintf("wants %s to ask for %s of %s, and it asks for %s", what, least.String(), name, asked.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		ratio, asked, limit := item.MaxLimitRequestRatio[name], requests[name], limits[name]
		if asked.IsZero() || times(limit, asked) > ratio.AsApproximateFloat64() {
			return fmt.Sprintf("allows a limit of %s of %s times what is asked for, and %s has %s for %s", name,
				ratio.String(), what, limit.String(), asked.String())
		}
	}
	return ""
}

func times(a, b resource.Quantity) float64 {
	return a.AsApproximateFloat64() / b.AsApproximateFloat64()
}
