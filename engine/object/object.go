// Package object converts objects from maps, as JSON decodes them, to their Go types.
package object

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// As converts an object. The error names the object.
func As[T any](obj map[string]any) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifest.KeyOf(obj), err)
	}
	return typed, nil
}
