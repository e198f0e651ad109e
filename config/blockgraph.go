package config

import (
	"cmp"
	"io"
	"slices"

	"github.com/lkeplan/lkeplan/config/diag"
)

// A graph contains the names of a directory and the references between them. The JSON names are
// part of the command-line interface.
type graph struct {
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"`
}

// A GraphNode is a block with a name, or a local.
type GraphNode struct {
	ID   string `json:"id"`   // as in expressions: pool.general
	Kind string `json:"kind"` // the type of the block; "local"
	File string `json:"file"`
	Line int    `json:"line"`
}

// A GraphEdge is a reference: the block From uses the value of To.
type GraphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// newGraph returns the graph of nodes and edges in canonical order. It drops edges to unknown nodes
// and from a node to itself.
func newGraph(nodes []GraphNode, edges []GraphEdge) graph {
	known := map[string]bool{}
	for _, n := range nodes {
		known[n.ID] = true
	}
	edges = slices.DeleteFunc(edges, func(e GraphEdge) bool { return e.From == e.To || !known[e.From] || !known[e.To] })
	slices.SortFunc(edges, func(a, b GraphEdge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	slices.SortStableFunc(nodes, func(a, b GraphNode) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	nodes = slices.CompactFunc(nodes, func(a, b GraphNode) bool { return a.ID == b.ID })
	return graph{Nodes: append([]GraphNode{}, nodes...), Edges: append([]GraphEdge{}, slices.Compact(edges)...)}
}

// JSON writes the graph for programs.
func (g graph) JSON(w io.Writer) error { return diag.JSON(w, g) }

// colors are the background colors of nodes by kind.
var colors = map[string]string{
	"pool": "#cfe8d5", "node_class": "#d3e2f7", "variable": "#fbe7c2", "local": "#f3f0e6", "module": "#e5d9f2",
	"check": "#f8d7d3", "policy": "#f8d7d3", "limits": "#f8d7d3",
}

func color(kind string) string { return cmp.Or(colors[kind], "#e8e8e8") }
