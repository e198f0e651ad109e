package manifest

import (
	"fmt"
)

func ExampleKeyOf() {
	buffer := map[string]any{
		"kind":     "CapacityBuffer",
		"metadata": map[string]any{"namespace": "web", "name": "spare"},
	}
	fmt.Println(KeyOf(buffer))
	// Output:
	// CapacityBuffer web/spare
}

func ExampleLookup() {
	pool := map[string]any{"spec": map[string]any{"weight": int64(10)}}
	weight, found := Lookup(pool, "spec", "weight")
	fmt.Println(weight, found)

	_, found = Lookup(pool, "spec", "limits", "cpu")
	fmt.Println(found)
	// Output:
	// 10 true
	// false
}
