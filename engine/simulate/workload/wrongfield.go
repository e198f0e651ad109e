package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// wrongField adds the field to a decoder's error about an amount, which names no field.
func wrongField(fields map[string]any, err error) error {
	if where := wrongAmount("", fields, false); where != "" {
		return errors.New(where)
	}
	return withoutPrefixes(err)
}

// wrongAmount returns the first field below a path that has an invalid amount, with its value. Amounts are the
// values of requests, limits and similar fields.
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
