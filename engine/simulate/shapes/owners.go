package shapes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Owners names what has made pods, those of the most pods first, with how many each has.
func Owners(pods []*corev1.Pod) string {
	of := map[string]int{}
	for _, pod := range pods {
		of[Owner(pod)]++
	}
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	const most = 3
	var texts []string
	for i, name := range names {
		if i == most {
			texts = append(texts, step.Count(len(names)-most, "other workload"))
			break
		}
		if !strings.HasPrefix(name, "Pod ") {
			name = step.Count(of[name], "pod") + " of " + name
		}
		texts = append(texts, name)
	}
	return strings.Join(texts, ", ")
}
