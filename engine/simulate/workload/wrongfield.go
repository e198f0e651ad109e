package workload

import (
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// wrongField is the error of a decoder, with the field that has the wrong value. The decoder names no field if an amount is
// wrong, and a type of Go if a type is wrong.
func wrongField(fields map[string]any, err error) error {
	var mistyped *encodingjson.UnmarshalTypeError
	if errors.As(err, &mistyped) && mistyped.Field != "" {
		return fmt.Errorf("%s must be %s, not %s", mistyped.Field, ofKind(mistyped.Type), withArticle(mistyped.Value))
	}
	if where := wrongAmount("", fields, false); where != "" {
		return errors.New(where)
	}
	return plain(err)
}

// ofKind is a type in the words of manifests.
func ofKind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	}
	return "of another type"
}

// withArticle is a JSON type, or a number, after "not".
func withArticle(value string) string {
	switch kind, number, _ := strings.Cut(value, " "); {
	case number != "":
		return number
	case kind == "array":
		return "a list"
	case kind == "object":
		return "an object"
	case kind == "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

// wrongAmount is the first field below a path that must be an amount and is not one, with its value. Amounts are the values of
// requests, limits and similar fields.
func wrongAmount(path string, value any, amounts bool) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			isAmount := slices.Contains([]string{"requests", "limits", "overhead", "capacity", "hard", "podFixed"}, name)
			if found := wrongAmount(strings.TrimPrefix(path+"."+name, "."), value[name], amounts || isAmount); found != "" {
				return found
			}
		}
	case []any:
		for i, element := range value {
			if found := wrongAmount(fmt.Sprintf("%s[%d]", path, i), element, amounts); found != "" {
				return found
			}
		}
	case string:
		if _, err := resource.ParseQuantity(value); amounts && err != nil {
			return fmt.Sprintf("%s is %q, which is not an amount; write an amount such as 500m or 2Gi", path, value)
		}
	}
	return ""
}
