package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Owned returns what lkeplan has applied of a live object: its identity, and the fields that FieldManager owns through
// server-side apply, with their live values. An apply of the result changes nothing.
func Owned(live map[string]any) (map[string]any, error) {
	key := manifest.KeyOf(live)
	metadata := map[string]any{"name": key.Name}
	if key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	owned := map[string]any{"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
	for _, entry := range (&unstructured.Unstructured{Object: live}).GetManagedFields() {
		if !isOurs(entry) {
			continue
		}
		set, err := decode(entry)
		if err != nil {
			return nil, fmt.Errorf("read the field owners of %s: %w", key, err)
		}
		for path := range set.Leaves().All() {
			steps, ok := names(path)
			if !ok { // the CRDs define no keys of lists
				return nil, fmt.Errorf("read the field owners of %s: %s is an element of a list", key, path)
			}
			if value, found := manifest.Lookup(live, steps...); found {
				manifest.Ensure(owned, steps[:len(steps)-1]...)[steps[len(steps)-1]] = value
			}
		}
	}
	return owned, nil
}
