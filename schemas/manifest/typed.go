package manifest

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// As converts an object to its Go type. The error names the object.
func As[T any](obj map[string]any) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return nil, fmt.Errorf("read %s: %w", KeyOf(obj), err)
	}
	return typed, nil
}

// Untyped converts a Go type to an object, with the values that the API server returns: a NodePool has fields that
// runtime.DefaultUnstructuredConverter encodes differently.
func Untyped(typed any) (obj map[string]any, err error) {
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	return obj, utiljson.Unmarshal(text, &obj)
}
