package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

var drawings = map[string]func(graph, io.Writer) error{
	"dot": graph.DOT, "mermaid": graph.Mermaid, "json": graph.JSON,
}

// small has an arrow that skips a column, a node without arrows, and names that could break out of
// a drawing.
func small() graph {
	return newGraph(
		[]GraphNode{
			{ID: "var.x", Kind: "variable", File: "a.lke.hcl", Line: 1},
			{ID: "pool.web", Kind: "pool", File: "a.lke.hcl", Line: 9},
			{ID: "local.b", Kind: "local", File: "a.lke.hcl", Line: 5},
			{ID: "local.alone", Kind: "local", File: "a.lke.hcl", Line: 6},
			{ID: "pool.\"]\n--><script>#;\\", Kind: "pool", File: "<b>.lke.hcl", Line: 2},
		},
		[]GraphEdge{
			{"pool.web", "var.x"}, {"pool.web", "local.b"}, {"local.b", "var.x"}, {"pool.web", "local.b"},
			{"local.b", "local.b"}, {"pool.web", "local.missing"}, {"pool.\"]\n--><script>#;\\", "local.b"},
		})
}

func TestDrawings(t *testing.T) {
	for name, draw := range drawings {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := draw(small(), &got); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/graph/small."+name, got.Bytes())
		})
	}
}

// TestShapes draws graphs of many forms. Each drawing is complete and deterministic, and contains
// each node.
func TestShapes(t *testing.T) {
	for name, g := range map[string]graph{
		"empty":  newGraph(nil, nil),
		"circle": number(3, func(i int) []int { return []int{(i + 1) % 3} }),
		"chain":  number(60, func(i int) []int { return []int{i + 1} }),
		"all":    number(30, func(i int) []int { return span(i+1, 30) }),
		"tree":   number(500, func(i int) []int { return []int{2*i + 1, 2*i + 2} }),
	} {
		for format, draw := range drawings {
			var first, second bytes.Buffer
			if err := errors.Join(draw(g, &first), draw(g, &second)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s: %s is not the same each time", name, format)
			}
			if n := strings.Count(first.String(), "pool."); n < len(g.Nodes) {
				t.Errorf("%s: %s has %d of %d nodes", name, format, n, len(g.Nodes))
			}
			if strings.Contains(first.String(), "NaN") || strings.Contains(first.String(), "Inf") {
				t.Errorf("%s: %s has no places", name, format)
			}
		}
	}
}

// number returns a graph of n nodes, by the references of each.
func number(n int, refers func(int) []int) graph {
	var nodes []GraphNode
	var edges []GraphEdge
	for i := range n {
		id := fmt.Sprintf("pool.n%d", i)
		nodes = append(nodes, GraphNode{ID: id, Kind: "pool"})
		for _, to := range refers(i) {
			edges = append(edges, GraphEdge{From: id, To: fmt.Sprintf("pool.n%d", to)})
		}
	}
	return newGraph(nodes, edges)
}

func span(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
