package encode_test

import (
	"fmt"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/encode"
)

// Objects become blocks that compile to them again. Blocks refer to each other by address, and omit
// the default capacity type.
func ExampleBlocks() {
	class := map[string]any{
		"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass",
		"metadata": map[string]any{"name": "default"}, "spec": map[string]any{},
	}
	pool := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web-small"},
		"spec": map[string]any{
			"limits": map[string]any{"cpu": "400"},
			"template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{
					"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default",
				},
				"requirements": []any{
					map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}},
				},
			}},
		},
	}
	blocks, err := encode.Blocks([]config.Object{{Manifest: pool}, {Manifest: class}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, block := range blocks {
		fmt.Print(block.HCL)
	}
	// Output:
	// node_class "default" {}
	// pool "web_small" {
	//   node_class = node_class.default
	//   limits     = { cpu = 400 }
	// }
}
