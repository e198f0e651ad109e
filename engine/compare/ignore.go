package compare

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Without returns a configuration without the fields that others have set and own, and reports whether there were
// any. It does not change its arguments.
func Without(head compile.Result, drift []plan.Drift,
	ignore func(plan.Drift) bool) (without compile.Result, found bool) {
	if ignore == nil {
		return head, false
	}
	head.Objects = slices.Clone(head.Objects)
	for _, d := range drift {
		i := slices.IndexFunc(head.Objects, func(o config.Object) bool { return o.Key() == d.Key() })
		if i < 0 || d.Kept || !ignore(d) {
			continue
		}
		head.Objects[i].Manifest = withoutField(head.Objects[i].Manifest, cmp.Or(d.Whole, d.Path))
		found = true
	}
	return head, found
}

// withoutField returns an object without the field at a path of a plan. Lists are owned as a whole, and removed as
// a whole.
func withoutField(obj map[string]any, path string) map[string]any {
	list, rest, inBrackets := strings.Cut(path, "[")
	steps := strings.Split(list, ".")
	if inBrackets && manifest.Map(obj, steps...) != nil {
		steps = append(steps, strings.TrimSuffix(rest, "]"))
	}
	obj = runtime.DeepCopyJSON(obj)
	unstructured.RemoveNestedField(obj, steps...)
	return obj
}
