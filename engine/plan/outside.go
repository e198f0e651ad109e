package plan

import (
	"slices"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/prune"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// outside adds a change for each pool that neither state declares and whose class rolls:
// the nodes of such a pool are replaced as those of any other.
func (p *Plan) outside(head State) {
	rolled := p.rolledClasses()
	if len(rolled) == 0 {
		return
	}
	nodes := byPool(head.Nodes)
	for _, o := range head.Others {
		if _, condemned := prune.Read(o.Defaulted); condemned {
			continue // its nodes go in any case
		}
		c := changeOf(o, Keep)
		c.Addr, c.Outside, c.UID = o.Key().String(), true, manifest.UID(o.Defaulted)
		for _, class := range classesOf(o, nodes[o.Name()]) {
			if by, ok := rolled[class]; ok {
				c.Because = append(c.Because, by.Addr)
				c.worsen(Roll, by.Partial)
			}
		}
		if len(c.Because) > 0 {
			p.Changes = append(p.Changes, c)
		}
	}
}

// classesOf are the node classes of a pool: the one that it names, or else those that its
// nodes were made of, sorted.
func classesOf(pool config.Object, nodes []Node) (classes []string) {
	if class := manifest.Text(pool.Defaulted, "spec", "template", "spec", "nodeClassRef", "name"); class != "" {
		return []string{class}
	}
	for _, n := range nodes {
		classes = append(classes, n.Class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// Undeclared are the pools of a cluster that no state declares: the live objects among
// them, and those of which only nodes are known, as objects without a spec.
func Undeclared(live []map[string]any, nodes []Node, states ...State) (others []config.Object) {
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
		addr := config.Addr{Type: schemas.Pool.Type, Name: key.Name}
		others = append(others, config.Object{Addr: addr, Manifest: obj, Defaulted: obj})
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
