package manifest_test

import (
	"fmt"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func ExampleKeyOf() {
	buffer := map[string]any{
		"kind":     "CapacityBuffer",
		"metadata": map[string]any{"namespace": "web", "name": "spare"},
	}
	fmt.Println(manifest.KeyOf(buffer))
	// Output:
	// CapacityBuffer web/spare
}

func ExampleLookup() {
	pool := map[string]any{"spec": map[string]any{"weight": int64(10)}}
	weight, found := manifest.Lookup(pool, "spec", "weight")
	fmt.Println(weight, found)

	_, found = manifest.Lookup(pool, "spec", "limits", "cpu")
	fmt.Println(found)
	// Output:
	// 10 true
	// false
}
