package compare

import (
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Without returns a configuration without the fields that others have set and
// may set, and reports whether it set any. What it is given is not changed.
func Without(head compile.Result, drift []plan.Drift,
	ignore func(plan.Drift) bool) (without compile.Result, found bool) {
	if ignore == nil {
		return head, false
	}
	head.Resources = slices.Clone(head.Resources)
	for _, d := range drift {
		i := slices.IndexFunc(head.Resources, func(o config.Object) bool { return o.Key() == d.Key() })
		if i < 0 || d.Kept || !ignore(d) {
			continue
		}
		head.Resources[i].Manifest = withoutField(head.Resources[i].Manifest, d.Path)
		found = true
	}
	return head, found
}

// withoutField is an object without the field at a path of a plan. Of a list, which
// is owned as a whole, all of it goes.
func withoutField(obj map[string]any, path string) map[string]any {
	list, rest, inBrackets := strings.Cut(path, "[")
	steps := strings.Split(list, ".")
	if inBrackets {
		if manifest.Map(obj, steps...) != nil {
			steps = append(steps, strings.TrimSuffix(rest, "]"))
		}
	}
	return drop(obj, steps)
}

// drop copies what it changes.
func drop(obj map[string]any, steps []string) map[string]any {
	copied := make(map[string]any, len(obj))
	for name, value := range obj {
		copied[name] = value
	}
	if len(steps) == 1 {
		delete(copied, steps[0])
	} else if inner, ok := copied[steps[0]].(map[string]any); ok {
		copied[steps[0]] = drop(inner, steps[1:])
	}
	return copied
}
