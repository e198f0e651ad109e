package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// GraphOf returns the names that the blocks of a directory declare and the references between them.
// It evaluates nothing, so variables need no values. A module is a single node.
func GraphOf(all hcl.Blocks) graph {
	var nodes []GraphNode
	var edges []GraphEdge
	used := map[string][]hcl.Traversal{} // by node
	add := func(id, kind string, at hcl.Range, references []hcl.Traversal) {
		nodes = append(nodes, GraphNode{ID: id, Kind: kind, File: at.Filename, Line: at.Start.Line})
		used[id] = append(used[id], references...)
	}
	for _, table := range schemas.Document() {
		for _, block := range all.OfType(table.Type) {
			switch {
			case table.Type == schemas.Locals.Type:
				attrs, _ := block.Body.JustAttributes()
				for _, attr := range attrs {
					add("local."+attr.Name, "local", attr.NameRange, attr.Expr.Variables())
				}
			case table.Type == schemas.Cluster.Type:
				add("cluster", table.Type, block.DefRange, references(block.Body, table))
			case table.Type == schemas.Variable.Type:
				add("var."+block.Labels[0], table.Type, block.DefRange, references(block.Body, table))
			case len(table.Labels) > 0:
				add(table.Type+"."+block.Labels[0], table.Type, block.DefRange, references(block.Body, table))
			}
		}
	}
	for id, traversals := range used {
		for _, to := range referents(traversals, nodes) {
			edges = append(edges, GraphEdge{From: id, To: to})
		}
	}
	return newGraph(nodes, edges)
}

// references collects the references of the expressions in a body, including dynamic blocks.
func references(body hcl.Body, table schemas.Block) []hcl.Traversal {
	list := decode.References(dynblock.WalkVariables(body), table)
	if table.Open {
		_, rest, _ := body.PartialContent(decode.Schema(table))
		attrs, _ := rest.JustAttributes()
		for _, attr := range attrs {
			list = append(list, attr.Expr.Variables()...)
		}
	}
	return list
}

// referents returns the nodes of references. A root without a name, such as pool in values(pool),
// refers to all nodes below it.
func referents(traversals []hcl.Traversal, nodes []GraphNode) (ids []string) {
	kinds := map[string]string{"var": schemas.Variable.Type, "local": "local"}
	for _, t := range traversals {
		root := t.RootName()
		if root == schemas.Cluster.Type {
			ids = append(ids, root)
			continue
		}
		if name, _, ok := eval.SecondName(t); ok {
			ids = append(ids, root+"."+name)
			continue
		}
		kind := root
		if k, ok := kinds[root]; ok {
			kind = k
		}
		for _, n := range nodes {
			if n.Kind == kind {
				ids = append(ids, n.ID)
			}
		}
	}
	return ids
}
