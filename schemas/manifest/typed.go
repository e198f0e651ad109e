package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// As converts an object to its Go type. The error names the object.
func As[T any](obj map[string]any) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return nil, fmt.Errorf("read %s: %w", KeyOf(obj), err)
	}
	return typed, nil
}
