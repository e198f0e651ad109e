package kube

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
)

// Defaulted returns an object with the fields that the API server would fill
// in. It does not validate the object.
func (v *Validator) Defaulted(obj map[string]any) (map[string]any, error) {
	rules, err := v.rulesOf(obj)
	if err != nil {
		return nil, err
	}
	return rules.defaulted(obj), nil
}

// Minimal returns the smallest object that the API server would store as the same
// object: without fields that have their default value, and without empty fields
// that have no meaning.
func (v *Validator) Minimal(obj map[string]any) (map[string]any, error) {
	rules, err := v.rulesOf(obj)
	if err != nil {
		return nil, err
	}
	least := runtime.DeepCopyJSON(obj)
	rules.reduce(least, least, rules.defaulted(obj))
	return least, nil
}

func (v *Validator) rulesOf(obj map[string]any) (*rules, error) {
	d, err := v.version(obj)
	if err != nil {
		return nil, err
	}
	rules, err := d.compile()
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", d.crd.Name, err)
	}
	return rules, nil
}

func (r *rules) defaulted(obj map[string]any) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, r.structure)
	defaulting.Default(obj, r.structure)
	return obj
}

// reduce removes fields from a part of an object as long as defaults restore
// them. It starts with the largest.
func (r *rules) reduce(obj, part, want map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		value := part[key]
		delete(part, key)
		if (shape{at: r.structure}).same(r.defaulted(obj), want) {
			continue
		}
		part[key] = value
		if inner, ok := value.(map[string]any); ok {
			r.reduce(obj, inner, want)
		}
	}
}
