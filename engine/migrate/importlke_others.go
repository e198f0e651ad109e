package migrate

import (
	"reflect"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Others reports whether one of the live objects has the name of an object and says
// something else.
func Others(live []map[string]any) func(obj map[string]any) bool {
	return func(obj map[string]any) bool {
		for _, other := range live {
			if manifest.KeyOf(other) == manifest.KeyOf(obj) {
				return !sameSpec(other, obj)
			}
		}
		return false
	}
}

// sameSpec compares what the API server makes of two specs.
func sameSpec(a, b map[string]any) bool {
	rules, err := kube.BuiltinValidator()
	if err != nil {
		return false
	}
	whole := [2]map[string]any{}
	for n, obj := range []map[string]any{a, b} {
		if whole[n], err = rules.Defaulted(map[string]any{
			"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": manifest.Map(obj, "spec"),
		}); err != nil {
			return false
		}
	}
	return reflect.DeepEqual(whole[0]["spec"], whole[1]["spec"])
}
