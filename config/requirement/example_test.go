package requirement_test

import (
	"fmt"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/schemas"
)

// A requirement has two forms: that of Kubernetes, and the expression that creates it.
func Example() {
	entries := []any{
		map[string]any{"key": "karpenter.k8s.linode/instance-cpu", "operator": "Gte", "values": []any{"4"}},
		map[string]any{"key": "karpenter.k8s.linode/instance-cpu", "operator": "Lte", "values": []any{"32"}},
	}
	all, err := requirement.Decode(entries)
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu := all["karpenter.k8s.linode/instance-cpu"]
	fmt.Println("cpu =", cpu)

	again, err := cpu.Encode(schemas.Key{Label: "karpenter.k8s.linode/instance-cpu"})
	fmt.Println(again, err)
	// Output:
	// cpu = between(4, 32)
	// [map[key:karpenter.k8s.linode/instance-cpu operator:Gte values:[4]] map[key:karpenter.k8s.linode/instance-cpu operator:Lte values:[32]]] <nil>
}
