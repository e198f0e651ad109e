package compare

import (
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// liveObject returns an object of a cluster, with the address of a block of its name.
func liveObject(obj map[string]any) config.Object {
	key := manifest.KeyOf(obj)
	return config.Object{
		Addr: config.Addr{Type: schemas.TypeOf(key.Kind), Name: key.Name}, Manifest: obj, Defaulted: obj,
	}
}

// undeclaredClasses returns the node classes of a cluster that a state does not declare.
func undeclaredClasses(live []map[string]any, s plan.State) (classes []config.Object) {
	declared := plan.ByKey(s.Objects)
	for _, obj := range live {
		key := manifest.KeyOf(obj)
		if _, known := declared[key]; !known && key.Kind == schemas.NodeClass.Object.Kind {
			classes = append(classes, liveObject(obj))
		}
	}
	return classes
}

// undeclaredPools returns the pools of a cluster that no state declares: the live objects among
// them, and those of which only nodes are known, as objects without a spec.
func undeclaredPools(live []map[string]any, nodes []plan.Node, states ...plan.State) (others []config.Object) {
	known := map[manifest.Key]bool{}
	for _, s := range states {
		for _, o := range s.Objects {
			known[o.Key()] = true
		}
	}
	add := func(obj map[string]any) {
		key := manifest.KeyOf(obj)
		if key.Kind != schemas.Pool.Object.Kind || key.Name == "" || known[key] {
			return
		}
		known[key] = true
		others = append(others, liveObject(obj))
	}
	for _, obj := range live {
		add(obj)
	}
	for _, n := range nodes {
		add(map[string]any{
			"apiVersion": schemas.Pool.Object.APIVersion, "kind": schemas.Pool.Object.Kind,
			"metadata": map[string]any{"name": n.Pool},
		})
	}
	return others
}
