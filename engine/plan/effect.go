package plan

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// effectsOf returns what the change of a field means, for two versions of one
// object with their defaults.
func effectsOf(before, after map[string]any) (func(path string) (effect Effect, partial bool), error) {
	switch after["kind"] {
	case "NodePool":
		return poolEffects(before, after)
	case "LinodeNodeClass":
		return classEffects(before, after)
	}
	return func(string) (Effect, bool) { return InPlace, false }, nil
}

// hashed is an object that knows the digest by which drift is told.
type hashed interface{ Hash() string }

// rollsBy reports whether replacing one part of an object by that of its new
// version changes its hash. Karpenter replaces nodes when the hash that they
// were made under is another one (karpenter v1.14.1, areStaticFieldsDrifted).
func rollsBy[T hashed](before, after map[string]any, part string, empty func() T) (bool, error) {
	if reflect.DeepEqual(lookup(before, part), lookup(after, part)) {
		return false, nil
	}
	hash := func(obj map[string]any) (string, error) {
		typed := empty()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
			return "", err
		}
		return typed.Hash(), nil
	}
	mixed := runtime.DeepCopyJSON(before)
	replace(mixed, after, strings.Split(part, "."))
	old, err := hash(before)
	if err != nil {
		return false, err
	}
	changed, err := hash(mixed)
	return old != changed, err
}

// replace puts the part of from at a path in place of that of into.
func replace(into, from map[string]any, path []string) {
	key := path[0]
	value, there := from[key]
	if len(path) == 1 {
		if !there {
			delete(into, key)
		} else {
			into[key] = runtime.DeepCopyJSONValue(value)
		}
		return
	}
	inner, ok := into[key].(map[string]any)
	if !ok {
		inner = map[string]any{}
		into[key] = inner
	}
	deeper, _ := value.(map[string]any)
	replace(inner, deeper, path[1:])
}

// parts of a NodePool's template that are replaced as a whole to see what they
// do to its hash.
var parts = []string{
	"spec.template.metadata.labels", "spec.template.metadata.annotations",
	"spec.template.spec.taints", "spec.template.spec.startupTaints", "spec.template.spec.nodeClassRef",
	"spec.template.spec.expireAfter", "spec.template.spec.terminationGracePeriod",
}

func poolEffects(before, after map[string]any) (func(string) (Effect, bool), error) {
	rolls := map[string]bool{}
	for _, part := range parts {
		r, err := rollsBy(before, after, part, func() *karpv1.NodePool { return &karpv1.NodePool{} })
		if err != nil {
			return nil, err
		}
		rolls[part] = r
	}
	misfit, err := misfits(before, after)
	if err != nil {
		return nil, err
	}
	return func(path string) (Effect, bool) {
		if key, ok := strings.CutPrefix(path, "spec.template.spec.requirements["); ok {
			if misfit[strings.TrimSuffix(key, "]")] {
				return Roll, true
			}
			return InPlace, false
		}
		for _, part := range parts {
			if strings.HasPrefix(path, part) {
				if rolls[part] {
					return Roll, false
				}
				return None, false
			}
		}
		return InPlace, false
	}, nil
}

// misfits returns the label keys of whose requirements nodes may fall out that
// fitted before: Karpenter compares the new requirements with the labels of
// each node (karpenter v1.14.1, areRequirementsDrifted).
func misfits(before, after map[string]any) (map[string]bool, error) {
	const requirements = "spec.template.spec.requirements"
	if reflect.DeepEqual(lookup(before, requirements), lookup(after, requirements)) {
		return nil, nil
	}
	old, err := requirementsOf(before)
	if err != nil {
		return nil, err
	}
	wanted, err := requirementsOf(after)
	if err != nil {
		return nil, err
	}
	misfit := map[string]bool{}
	for key, want := range wanted {
		have := old.Get(key)
		// What was allowed and still is, is all that was allowed: no node falls
		// out.
		both := have.Intersection(want)
		have.MinValues, both.MinValues = nil, nil
		misfit[key] = !old.Has(key) || have.String() != both.String()
	}
	return misfit, nil
}

func requirementsOf(obj map[string]any) (scheduling.Requirements, error) {
	var pool karpv1.NodePool
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &pool); err != nil {
		return nil, fmt.Errorf("read the requirements: %w", err)
	}
	return scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...), nil
}

func classEffects(before, after map[string]any) (func(string) (Effect, bool), error) {
	rolls := map[string]bool{}
	spec := map[string]any{}
	for _, obj := range []map[string]any{before, after} {
		fields, _ := obj["spec"].(map[string]any)
		for key := range fields {
			spec[key] = nil
		}
	}
	for key := range spec {
		r, err := rollsBy(before, after, "spec."+key,
			func() *linodev1alpha1.LinodeNodeClass { return &linodev1alpha1.LinodeNodeClass{} })
		if err != nil {
			return nil, err
		}
		rolls[key] = r
	}
	return func(path string) (Effect, bool) {
		field, _ := strings.CutPrefix(path, "spec.")
		field, _, _ = strings.Cut(field, ".")
		switch {
		case rolls[field]:
			return Roll, false
		case field == "tags":
			return InPlace, false
		default:
			return None, false
		}
	}, nil
}
