package shapes

import (
	"maps"
	"slices"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Words are all that objects say, which pods may select nodes by, and all values of the
// labels that plan types have.
func Words(objects []map[string]any, types []*cloudprovider.InstanceType) []string {
	words := map[string]bool{}
	for _, obj := range objects {
		collect(words, obj)
	}
	for _, it := range types {
		for _, r := range it.Requirements {
			for _, value := range r.Values() {
				words[value] = true
			}
		}
		for _, o := range it.Offerings {
			for _, r := range o.Requirements {
				for _, value := range r.Values() {
					words[value] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(words))
}

func collect(words map[string]bool, value any) {
	switch v := value.(type) {
	case string:
		words[v] = true
	case map[string]any:
		for key, inner := range v {
			words[key] = true
			collect(words, inner)
		}
	case []any:
		for _, inner := range v {
			collect(words, inner)
		}
	}
}
