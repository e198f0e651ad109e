// Package object reads objects as JSON has them into their Go types, in one way for all that decides by them.
package object

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// As reads an object. The type's fields share nothing with the object. The error names the object.
func As[T any](obj map[string]any) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifest.KeyOf(obj), err)
	}
	return typed, nil
}
