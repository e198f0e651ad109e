package memory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Declare puts the objects of a configuration into the cluster, and says which of them it has
// no place for.
func (s *Store) Declare(objects []map[string]any) (others []string, err error) {
	for _, raw := range objects {
		name := manifest.Kind(raw) + " " + manifest.Name(raw)
		switch manifest.Kind(raw) {
		case "NodePool":
			err = put(s.Pools, raw)
		case "LinodeNodeClass":
			err = put(s.Classes, raw)
		case "CapacityLimit":
			err = put(s.Limits, raw)
		default:
			others = append(others, name)
		}
		if err != nil {
			return others, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return others, nil
}

func put[T any](into map[string]*T, raw map[string]any) error {
	typed := new(T)
	into[manifest.Name(raw)] = typed
	return runtime.DefaultUnstructuredConverter.FromUnstructured(raw, typed)
}
