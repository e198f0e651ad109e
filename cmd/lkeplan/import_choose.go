package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lkeplan/lkeplan/config/diag"
)

// choose returns the objects that are named, by KIND/NAME, KIND or NAME as for
// kubectl, and that a selector selects; all of them where neither is given.
// Each name must be that of an object.
func choose(objects []map[string]any, names []string, selector string) ([]map[string]any, error) {
	selects, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %s: %w", selector, err)
	}
	found := map[string]bool{}
	var chosen []map[string]any
	for _, obj := range objects {
		u := unstructured.Unstructured{Object: obj}
		wanted := len(names) == 0
		for _, name := range names {
			if means(name, u) {
				wanted, found[name] = true, true
			}
		}
		if wanted && selects.Matches(labels.Set(u.GetLabels())) {
			chosen = append(chosen, obj)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("there is no %s; there are %s", name, diag.OneLine(listed(objects)))
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("there is nothing to import: no NodePool, LinodeNodeClass, NodeOverlay, CapacityBuffer or CapacityLimit")
	}
	return chosen, nil
}

// means tells whether an argument means an object. Kinds may be written small
// and in the plural.
func means(argument string, obj unstructured.Unstructured) bool {
	isKind := func(text string) bool {
		kind := strings.ToLower(obj.GetKind())
		return slices.Contains([]string{kind, kind + "s", kind + "es"}, strings.ToLower(text))
	}
	kind, name, both := strings.Cut(argument, "/")
	if both {
		return isKind(kind) && name == obj.GetName()
	}
	return isKind(argument) || argument == obj.GetName()
}

func listed(objects []map[string]any) string {
	names := map[string]bool{}
	for _, obj := range objects {
		u := unstructured.Unstructured{Object: obj}
		names[u.GetKind()+"/"+u.GetName()] = true
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(sortedNames(names), ", ")
}

func sortedNames(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }
