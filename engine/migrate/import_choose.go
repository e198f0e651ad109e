package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Choose returns the objects that are named by KIND/NAME, KIND or NAME as for
// kubectl, and that a label selector selects; all of them where neither is given.
// Each name must be that of an object, and at least one object must be left.
func Choose(objects []map[string]any, names []string, selector string) ([]map[string]any, error) {
	selects, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %s: %w", selector, err)
	}
	found := map[string]bool{}
	var chosen []map[string]any
	for _, object := range objects {
		named := len(names) == 0
		for _, name := range names {
			if means(name, object) {
				named, found[name] = true, true
			}
		}
		if named && selects.Matches(labels.Set((&unstructured.Unstructured{Object: object}).GetLabels())) {
			chosen = append(chosen, object)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("there is no %s; there are %s", name, diag.OneLine(objectNames(objects)))
		}
	}
	if len(chosen) == 0 {
		const kinds = "NodePool, LinodeNodeClass, NodeOverlay, CapacityBuffer or CapacityLimit"
		return nil, errors.New("there is nothing to import: no " + kinds)
	}
	return chosen, nil
}

// means reports whether an argument means an object. Kinds may be written in
// lower case and in the plural.
func means(argument string, object map[string]any) bool {
	isKind := func(text string) bool {
		kind := strings.ToLower(manifest.Kind(object))
		return slices.Contains([]string{kind, kind + "s", kind + "es"}, strings.ToLower(text))
	}
	if kind, name, both := strings.Cut(argument, "/"); both {
		return isKind(kind) && name == manifest.Name(object)
	}
	return isKind(argument) || argument == manifest.Name(object)
}

// objectNames names objects for people.
func objectNames(objects []map[string]any) string {
	names := map[string]bool{}
	for _, object := range objects {
		names[manifest.Kind(object)+"/"+manifest.Name(object)] = true
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
