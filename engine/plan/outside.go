package plan

import (
	"slices"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// outside adds a change for each pool that neither state declares. It rolls the pool if the class rolls, like any other
// pool. Changes without an effect are left out later.
func (p *Plan) outside(head side) {
	rolled := p.rolledClasses()
	nodes := byPool(head.Nodes)
	for _, o := range head.others {
		if _, condemned := ReadRemoval(o.Defaulted); condemned {
			continue // its nodes are removed anyway
		}
		c := changeOf(o.Object, Keep)
		c.Addr, c.Outside, c.UID = o.Key().String(), true, manifest.UID(o.Defaulted)
		for _, class := range classesOf(o, nodes[o.Name()]) {
			if by, ok := rolled[class]; ok {
				c.Because = append(c.Because, by.Addr)
				c.worsen(Roll, by.Partial)
			}
		}
		p.Changes = append(p.Changes, c)
	}
}

// classesOf returns the node classes of a pool: the class that it names, or else the classes of its nodes, sorted.
func classesOf(pool object, nodes []Node) (classes []string) {
	if class := pool.classRef(); class != "" {
		return []string{class}
	}
	for _, n := range nodes {
		classes = append(classes, n.Class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}
