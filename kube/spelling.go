package kube

import (
	"fmt"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// shape is what the CRD of a kind specifies for the values at one place of an object. It decides
// how two values compare; the zero shape specifies nothing. All comparisons of objects use it:
// a value that is "the same" is not sent, and so it is not a change.
type shape struct {
	at   *structuralschema.Structural
	path string // without indexes: spec.template.spec.requirements
}

// shapeOf returns the shape of a whole object. It specifies nothing for a kind without one of our CRDs.
func shapeOf(obj map[string]any) shape {
	rules, err := BuiltinValidator().rulesOf(obj)
	if err != nil {
		return shape{}
	}
	return shape{at: rules.structure}
}

// field returns the shape of a field of a map.
func (s shape) field(name string) shape {
	of := shape{path: strings.TrimPrefix(s.path+"."+name, ".")}
	if s.at == nil {
		return of
	}
	if property, ok := s.at.Properties[name]; ok {
		of.at = &property
	} else if more := s.at.AdditionalProperties; more != nil {
		of.at = more.Structural
	}
	return of
}

// down returns the shape at the end of a path.
func (s shape) down(path fieldpath.Path) shape {
	for _, step := range path {
		if step.FieldName != nil {
			s = s.field(*step.FieldName)
		} else {
			s = s.element()
		}
	}
	return s
}

// element returns the shape of an element of a list.
func (s shape) element() shape {
	if s.at == nil {
		return shape{path: s.path}
	}
	return shape{s.at.Items, s.path}
}

// amount reports whether values are amounts: 1 and 1000m are the same in a limit, but not in a
// label.
func (s shape) amount() bool { return s.at != nil && s.at.XIntOrString }

// set reports whether the order of a list has no meaning: the CRD declares the list a set, or
// Karpenter reads it as a set.
func (s shape) set() bool {
	if s.at != nil && s.at.XListType != nil && *s.at.XListType != "atomic" {
		return true
	}
	return slices.Contains(karpenterSets, s.path)
}

// karpenterSets are lists that Karpenter's CRDs declare atomic and Karpenter v1.15.0 reads as
// sets: its scheduler and its hash of a template ignore their order, and the smallest budget
// applies.
var karpenterSets = []string{
	"spec.template.spec.requirements", "spec.template.spec.requirements.values",
	"spec.template.spec.taints", "spec.template.spec.startupTaints", "spec.disruption.budgets",
	"spec.requirements", "spec.requirements.values",
}

// Spelled returns a desired object in the spelling of the live one, which is nil
// if it does not exist: an apply of it changes only the fields that differ in
// meaning, and conflicts only about those. Neither is changed.
//
// A node class without a spec gets an empty list of tags if the live one has a spec: the API
// server would turn a spec that loses its last field into null, and refuse that.
func Spelled(desired, live map[string]any) map[string]any {
	spelled := shapeOf(desired).spelledAs(desired, live).(map[string]any)
	there := manifest.Map(live, "spec")
	if manifest.Kind(desired) == schemas.NodeClass.Object.Kind && len(there) > 0 && len(manifest.Map(spelled,
		"spec")) == 0 {
		spelled["spec"] = map[string]any{"tags": []any{}}
	}
	return spelled
}

// spelledAs is Spelled for any value: if both mean the same, it returns the live value. The API
// server would treat another spelling as a change, and as a conflict with the writer of the live
// value.
func (s shape) spelledAs(desired, live any) any {
	switch w := desired.(type) {
	case map[string]any:
		l, _ := live.(map[string]any) // nil if there is none, or it has another type
		fields := make(map[string]any, len(w))
		for key, value := range w {
			fields[key] = value
			if there, ok := l[key]; ok {
				fields[key] = s.field(key).spelledAs(value, there)
			}
		}
		return fields
	case []any:
		if l, ok := live.([]any); ok {
			return s.listedAs(w, l)
		}
	default:
		if s.same(desired, live) {
			return live
		}
	}
	return desired
}

// listedAs is spelledAs for lists.
func (s shape) listedAs(desired, live []any) any {
	if s.same(desired, live) {
		return runtime.DeepCopyJSONValue(live)
	}
	list := make([]any, len(desired))
	for i, w := range desired {
		list[i] = w
		if at := slices.IndexFunc(live, func(l any) bool { return s.element().same(w, l) }); at >= 0 {
			list[i] = runtime.DeepCopyJSONValue(live[at])
		}
	}
	return list
}

// same reports whether two values mean the same. In an element of a list, an empty field means
// the same as a missing field.
func (s shape) same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && s.covers(x, y) && s.covers(y, x)
	case []any:
		y, ok := b.([]any)
		switch {
		case !ok:
			return false
		case s.set():
			return s.permuted(x, y)
		}
		return slices.EqualFunc(x, y, s.element().same)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	_, text := a.(string)
	if _, alike := b.(string); text == alike && fmt.Sprint(a) == fmt.Sprint(b) { // 1 may be int64 or float64
		return true
	}
	if !s.amount() || a == nil || b == nil {
		return false
	}
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}

// covers reports whether b has each field that a has. A budget with an empty list of reasons is
// for no reason, and a budget without a list is for all reasons. A label with an empty value is
// a label.
func (s shape) covers(a, b map[string]any) bool {
	for key, value := range a {
		if (!s.without(key, value) || key == "reasons") && !s.field(key).same(value, b[key]) {
			return false
		}
	}
	return true
}

// free reports whether users choose the keys of a map, such as those of labels: they are not fields.
func (s shape) free() bool {
	return s.at != nil && s.at.AdditionalProperties != nil || s.path == "metadata.labels" || s.path == "metadata.annotations"
}

// permuted reports whether two lists have the same elements in any order and each the same number
// of times: Karpenter's hash omits both of two equal taints.
func (s shape) permuted(a, b []any) bool {
	rest := slices.Clone(b)
	for _, x := range a {
		i := slices.IndexFunc(rest, func(y any) bool { return s.element().same(x, y) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(rest) == 0
}

// without reports whether a map means the same without a field: a typed client would omit the value.
func (s shape) without(key string, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == "" && !s.free()
	case []any:
		return len(v) == 0
	case map[string]any:
		for inner, value := range v {
			if !s.field(key).without(inner, value) {
				return false
			}
		}
		return true
	}
	return false
}
