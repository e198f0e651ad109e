package plan_test

import (
	"context"
	"fmt"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// pool is a NodePool as it is stored, with a weight and what its nodes expire
// after.
func pool(weight int64, expireAfter string) config.Object {
	stored := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"weight": weight,
			"template": map[string]any{"spec": map[string]any{
				"expireAfter":  expireAfter,
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
				"requirements": []any{},
			}},
		},
	}
	return config.Object{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: stored, Defaulted: stored}
}

// Two revisions of a pool are compared: each changed field says what it does to
// nodes, by Karpenter's own hash.
func ExampleDiff() {
	base := plan.State{Objects: []config.Object{pool(10, "720h")}}
	head := plan.State{Objects: []config.Object{pool(20, "168h")}}
	p, err := plan.Diff(context.Background(), base, head)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range p.Changes {
		fmt.Printf("%s %s: %s\n", c.Action, c.Key(), c.Effect)
		for _, f := range c.Fields {
			fmt.Printf("  %s: %v -> %v, %s\n", f.Path, f.Before, f.After, f.Effect)
		}
	}
	// Output:
	// update NodePool web: roll
	//   spec.template.spec.expireAfter: 720h -> 168h, roll
	//   spec.weight: 10 -> 20, in_place
}

// A digest names what a plan does to objects, so that an approval can name it.
func ExamplePlan_Digest() {
	state := func(weight int64) plan.State { return plan.State{Objects: []config.Object{pool(weight, "720h")}} }
	change, err := plan.Diff(context.Background(), state(10), state(20))
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := plan.Diff(context.Background(), state(10), state(20))
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := change.Digest()
	second, _ := again.Digest()
	fmt.Println(first == second)
	// Output: true
}
