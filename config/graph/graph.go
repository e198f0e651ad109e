// Package graph finds which names of a directory refer to which, as blocks are
// written, and draws it. It evaluates nothing.
//
// All drawings are the same bytes for the same graph. Names come from files
// that anybody may have written, and cannot end the drawing they are in.
package graph

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// A Graph is the names of a directory and the references between them. The
// JSON names are part of the command line's interface.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// A Node is a block that has a name, or one local.
type Node struct {
	ID   string `json:"id"`   // as expressions refer to it: pool.general
	Kind string `json:"kind"` // the type of the block; "local"
	File string `json:"file"`
	Line int    `json:"line"`
}

// An Edge is a reference: the block From uses the value of To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// New returns the graph of nodes and edges in their one order. Edges to what
// is not a node, or from a node to itself, are left out.
func New(nodes []Node, edges []Edge) Graph {
	known := map[string]bool{}
	for _, n := range nodes {
		known[n.ID] = true
	}
	edges = slices.DeleteFunc(edges, func(e Edge) bool { return e.From == e.To || !known[e.From] || !known[e.To] })
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	slices.SortStableFunc(nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	nodes = slices.CompactFunc(nodes, func(a, b Node) bool { return a.ID == b.ID })
	return Graph{Nodes: append([]Node{}, nodes...), Edges: append([]Edge{}, slices.Compact(edges)...)}
}

// JSON writes the graph for programs.
func (g Graph) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(g)
}

// colors are the backgrounds of nodes by their kinds.
var colors = map[string]string{
	"pool": "#cfe8d5", "node_class": "#d3e2f7", "variable": "#fbe7c2", "local": "#f3f0e6", "module": "#e5d9f2",
	"check": "#f8d7d3", "policy": "#f8d7d3", "limits": "#f8d7d3",
}

func color(kind string) string { return cmp.Or(colors[kind], "#e8e8e8") }
