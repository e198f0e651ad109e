package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// Text writes a plan for people: a paragraph for each object, a line for each
// field with what it does to nodes, and the sum last. Equal plans give equal
// bytes.
func Text(w io.Writer, p Plan) error {
	var b strings.Builder
	for _, c := range p.Changes {
		writeChange(&b, c)
	}
	b.WriteString(sentence(p))
	_, err := io.WriteString(w, b.String())
	return err
}

var signs = map[Action]string{Create: "+", Update: "~", Delete: "-", Keep: "="}

func writeChange(b *strings.Builder, c Change) {
	fmt.Fprintf(b, "%s %s  (%s %s)%s\n", signs[c.Action], c.Addr, c.Kind, c.Name, at(c.Source))
	fmt.Fprintf(b, "    %s\n", headline(c))
	if text := c.Impact.sentence(); text != "" {
		fmt.Fprintf(b, "    %s\n", text)
	}
	for _, conflict := range c.Conflicts {
		fmt.Fprintf(b, "    CONFLICT: %s was set by %q to another value; apply refuses to take it over\n", conflict.Path, conflict.Owner)
	}
	rows := make([][]string, len(c.Fields))
	for i, f := range c.Fields {
		rows[i] = []string{"      " + short(f.Path), change(f), words(f.Effect, f.Partial), strings.TrimSpace(at(f.Source))}
		if c.Action == Create {
			rows[i][2] = ""
		}
	}
	if text := ceilings(c.Before, c.After); text != "" {
		rows = append(rows, []string{"      most a month", text, "", ""})
	}
	writeRows(b, rows)
	b.WriteString("\n")
}

// ceilings writes what something can cost before and after; once where it is
// the same.
func ceilings(before, after *Cost) string {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		return after.Ceiling.String()
	case after == nil:
		return before.Ceiling.String() + " → nothing"
	case before.Ceiling.String() == after.Ceiling.String():
		return before.Ceiling.String()
	}
	return before.Ceiling.String() + " → " + after.Ceiling.String()
}

// headline says what is done to the object and its nodes.
func headline(c Change) string {
	var parts []string
	switch c.Action {
	case Create:
		return "created"
	case Delete:
		if c.Effect == DeleteNodes {
			return "deleted, and all its nodes with it, at once and past its budgets"
		}
		return "deleted; it goes when no node uses it any more"
	case Update:
		parts = append(parts, "updated")
	}
	if c.Previous != "" {
		parts = append(parts, "moved from "+c.Previous+", the object stays")
	}
	switch {
	case c.Effect == Roll && c.Partial:
		parts = append(parts, "replaces the nodes that do not match any more")
	case c.Effect == Roll && c.Kind == "LinodeNodeClass":
		parts = append(parts, "replaces every node of the pools that use it")
	case c.Effect == Roll:
		parts = append(parts, "replaces every node of the pool")
	case c.Action == Update:
		parts = append(parts, "no node is replaced")
	}
	if len(c.Because) > 0 {
		parts = append(parts, "because of "+strings.Join(c.Because, ", "))
	}
	return strings.Join(parts, "; ")
}

func words(e Effect, partial bool) string {
	switch {
	case e == Roll && partial:
		return "rolls nodes that do not match"
	case e == Roll:
		return "rolls nodes"
	case e == InPlace:
		return "in place"
	case e == DeleteNodes:
		return "deletes nodes"
	}
	return "no effect"
}

// short leaves out the part of a path that is the same in every pool.
func short(path string) string {
	path = strings.TrimPrefix(path, "spec.template.spec.")
	path = strings.TrimPrefix(path, "spec.template.metadata.")
	return strings.TrimPrefix(path, "spec.")
}

func change(f Field) string {
	switch {
	case f.Before == nil:
		return value(f.Path, f.After)
	case f.After == nil:
		return value(f.Path, f.Before) + " → none"
	}
	return value(f.Path, f.Before) + " → " + value(f.Path, f.After)
}

// value writes a value as the reader of HCL knows it.
func value(path string, v any) string {
	list, ok := v.([]any)
	if !ok {
		return literal(v)
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = element(path, e)
	}
	return strings.Join(texts, ", ")
}

func element(path string, e any) string {
	m, ok := e.(map[string]any)
	switch {
	case !ok:
		return literal(e)
	case strings.Contains(path, ".requirements["):
		return requirement(m)
	case strings.Contains(path, "aints["):
		return literal(fmt.Sprint(orEmpty(m["value"])))
	case strings.HasSuffix(path, ".budgets"):
		return budget(m)
	}
	return literal(e)
}

func requirement(m map[string]any) string {
	var values []string
	list, _ := m["values"].([]any)
	for _, v := range list {
		values = append(values, fmt.Sprint(v))
	}
	text := strings.TrimSpace(fmt.Sprint(m["operator"], " ", strings.Join(values, ", ")))
	if least, ok := m["minValues"]; ok {
		text += fmt.Sprintf(" (at least %v)", least)
	}
	return text
}

func budget(m map[string]any) string {
	text := fmt.Sprint(orEmpty(m["nodes"]))
	if reasons, ok := m["reasons"].([]any); ok && len(reasons) > 0 {
		text += " for " + strings.Trim(fmt.Sprint(reasons), "[]")
	}
	if schedule, ok := m["schedule"]; ok {
		text += fmt.Sprintf(" at %q for %v", schedule, m["duration"])
	}
	return text
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func literal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func at(r hcl.Range) string {
	if r.Filename == "" {
		return ""
	}
	return fmt.Sprintf("  %s:%d", r.Filename, r.Start.Line)
}

// writeRows writes columns that are as wide as their widest cell, the last one
// as it comes.
func writeRows(b *strings.Builder, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], min(utf8.RuneCountInString(cell), 60))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if width[i] > 0 {
				line.WriteString(strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(cell))+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// sentence sums a plan up.
func sentence(p Plan) string {
	if p.Empty() {
		return "No changes.\n"
	}
	s := p.Summary()
	text := fmt.Sprintf("Plan: %d to create, %d to update, %d to delete", s.Create, s.Update, s.Delete)
	if s.Move > 0 {
		text += fmt.Sprintf(", %d moved", s.Move)
	}
	text += ".\nNodes: "
	var parts []string
	if len(s.Deleted) > 0 {
		parts = append(parts, "deleted with "+strings.Join(s.Deleted, ", "))
	}
	if len(s.Rolled) > 0 {
		parts = append(parts, "replaced in "+strings.Join(s.Rolled, ", "))
	}
	if len(parts) == 0 {
		parts = []string{"none is replaced or deleted"}
	}
	text += strings.Join(parts, "; ") + ".\n"
	return text + fmt.Sprintf("Most a month: %s, all pools together.\n", ceilings(&p.Before, &p.After))
}
