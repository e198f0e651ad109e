package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// DOT writes the graph in the Graphviz language.
func (g graph) DOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "digraph lkeplan {\n  rankdir=LR\n  node [shape=box, style=\"filled,rounded\", "+
		"fontname=\"monospace\"]\n")
	for _, n := range g.Nodes {
		fmt.Fprintf(out, "  %s [fillcolor=%q]\n", dotQuote(n.ID), color(n.Kind))
	}
	for _, e := range g.Edges {
		fmt.Fprintf(out, "  %s -> %s\n", dotQuote(e.From), dotQuote(e.To))
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

func dotQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(text)) + `"`
}

// Mermaid writes the graph as a Mermaid flow chart, which GitHub and GitLab draw in Markdown.
func (g graph) Mermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "flowchart LR\n")
	ids := map[string]string{}
	kinds := map[string]bool{}
	for i, n := range g.Nodes {
		ids[n.ID] = fmt.Sprintf("n%d", i)
		fmt.Fprintf(out, "  %s[\"%s\"]:::kind_%s\n", ids[n.ID], mermaidText(n.ID), n.Kind)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(out, "  %s --> %s\n", ids[e.From], ids[e.To])
	}
	for _, n := range g.Nodes {
		if !kinds[n.Kind] {
			kinds[n.Kind] = true
			fmt.Fprintf(out, "  classDef kind_%s fill:%s,stroke:#888,color:#222\n", n.Kind, color(n.Kind))
		}
	}
	return out.Flush()
}

// mermaidText replaces characters that could be markup by their numbers.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		if r < 0x80 && strings.ContainsRune("\"#&<>`\\;", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printable escapes line breaks in a name.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
