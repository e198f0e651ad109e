package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
		if entry.Manager != FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read the field owners of %s: %w", key, err)
		}
		var failed error
		set.Leaves().Iterate(func(path fieldpath.Path) {
			steps := make([]string, len(path))
			for i, step := range path {
				if step.FieldName == nil { // the CRDs define no keys of lists
					failed = fmt.Errorf("read the field owners of %s: %s is an element of a list", key, path)
					return
				}
				steps[i] = *step.FieldName
			}
			if value, found := manifest.Lookup(live, steps...); found {
				manifest.Ensure(owned, steps[:len(steps)-1]...)[steps[len(steps)-1]] = value
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	return owned, nil
}
