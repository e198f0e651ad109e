package kube

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Spelled returns a desired object in the spelling of the live one, nil where
// there is none: an apply of it changes only what it has to, and is in conflict
// about nothing else. Neither is changed.
//
// A node class whose spec is left out, where there is one, has no tags: the API server
// makes null of a spec that loses its last field, and refuses that.
func Spelled(desired, live map[string]any) map[string]any {
	spelled := spelledAs(desired, live).(map[string]any)
	there := manifest.Map(live, "spec")
	if manifest.Kind(desired) == schemas.NodeClass.Object.Kind && len(there) > 0 && len(manifest.Map(spelled,
		"spec")) == 0 {
		spelled["spec"] = map[string]any{"tags": []any{}}
	}
	return spelled
}

// spelledAs is Spelled for any value: where both mean the same, in another order
// or with a number for text, the live value is returned. The API server would
// take the one for a change of the other, and for a conflict with whoever wrote
// it. Order has no meaning in these lists: Karpenter takes requirements, taints
// and budgets for sets, and Linode tags and keys.
func spelledAs(desired, live any) any {
	switch w := desired.(type) {
	case map[string]any:
		l, _ := live.(map[string]any) // none, or another kind of thing
		fields := make(map[string]any, len(w))
		for key, value := range w {
			fields[key] = value
			if there, ok := l[key]; ok {
				fields[key] = spelledAs(value, there)
			}
		}
		return fields
	case []any:
		if l, ok := live.([]any); ok {
			return listedAs(w, l)
		}
	case string:
		if n, ok := live.(int64); ok && fmt.Sprint(n) == w {
			return live
		}
	}
	return desired
}

// listedAs is spelledAs for lists.
func listedAs(desired, live []any) any {
	if sameSet(desired, live) {
		return runtime.DeepCopyJSONValue(live)
	}
	list := make([]any, len(desired))
	for i, w := range desired {
		list[i] = w
		if at := slices.IndexFunc(live, func(l any) bool { return same(w, l) }); at >= 0 {
			list[i] = runtime.DeepCopyJSONValue(live[at])
		}
	}
	return list
}

// same reports whether two values mean the same: empty fields are as good as
// none, and lists are sets.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && covers(x, y) && covers(y, x)
	case []any:
		y, ok := b.([]any)
		return ok && sameSet(x, y)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b || fmt.Sprint(a) == fmt.Sprint(b)
}

// covers reports whether b says whatever a does.
func covers(a, b map[string]any) bool {
	for key, value := range a {
		if !empty(value) && !same(value, b[key]) {
			return false
		}
	}
	return true
}

func sameSet(a, b []any) bool { return subset(a, b) && subset(b, a) }

func subset(a, b []any) bool {
	missing := func(x any) bool { return !slices.ContainsFunc(b, func(y any) bool { return same(x, y) }) }
	return !slices.ContainsFunc(a, missing)
}

// empty reports whether a value is one that a typed client would leave out.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	}
	return false
}
