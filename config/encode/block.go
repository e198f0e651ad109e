package encode

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A writer writes one object.
type writer struct {
	label  string
	labels map[manifest.Key]string // of all blocks
}

// object writes a block by its table. Fields without an argument are written as manifest.
func (w writer) object(table schemas.Block, o config.Object) string {
	rest := writtenFields(o.Manifest)
	if manifest.Text(rest, "metadata", "name") == strings.ReplaceAll(w.label, "_", "-") {
		removePath(rest, "metadata.name")
	}
	items, _ := w.body(table, rest, o.Defaulted)
	removePath(rest, "metadata.name") // with a row in the table
	if spec, ok := rest["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(rest, "spec") // each object compiles to one
	}
	if len(rest) > 0 {
		items = append(items, item{text: "manifest = " + writeLiteral(rest)})
	}
	return format(joinBlock(table.Type+" "+syntax.Quote(w.label), items))
}

// An item is an argument of a block, or a nested block.
type item struct {
	text  string
	block bool
}

func (i item) separate() bool { return i.block || strings.Contains(i.text, "\n") }

// joinBlock joins items, with blank lines around items of several lines.
func joinBlock(header string, items []item) string {
	if len(items) == 0 {
		return header + " {}\n"
	}
	var b strings.Builder
	b.WriteString(header + " {\n")
	for i, item := range items {
		if i > 0 && (item.separate() || items[i-1].separate()) {
			b.WriteString("\n")
		}
		b.WriteString(strings.TrimSuffix(item.text, "\n") + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// body writes the arguments and blocks of a table and removes their fields from fields. Defaulted
// provides the values of required arguments that fields do not contain. It returns false if a
// required argument has no value.
func (w writer) body(table schemas.Block, fields, defaulted map[string]any) (items []item, ok bool) {
	for _, arg := range table.Args {
		if arg.Meta || arg.Path == "" {
			continue
		}
		text, ok := w.argument(arg, fields, defaulted)
		if !ok {
			return nil, false
		}
		if text != "" {
			items = append(items, item{text: arg.Name + " = " + text})
		}
	}
	for _, nested := range table.Blocks {
		items = append(items, w.nested(nested, fields, defaulted)...)
	}
	return items, true
}

// argument writes the value of an argument and removes its field from fields. It keeps a value that
// the argument cannot express there, for manifest.
func (w writer) argument(arg schemas.Arg, fields, defaulted map[string]any) (text string, ok bool) {
	value, there := manifest.Lookup(fields, schemas.Steps(arg.Path)...)
	switch {
	case there:
	case arg.Required:
		value, there = manifest.Lookup(defaulted, schemas.Steps(arg.Path)...)
	case arg.Kind == schemas.Requirements: // compiled pools have one more
		value, there = []any{}, true
	}
	if there {
		if text, ok := w.value(arg, value); ok {
			removePath(fields, arg.Path)
			return text, true
		}
	}
	if arg.Kind == schemas.NodeClassRef {
		return writeForeign(value), true
	}
	return "", !arg.Required
}

// nested writes the blocks of one type. It keeps those that cannot be written completely in fields.
func (w writer) nested(table schemas.Block, fields, defaulted map[string]any) []item {
	value, there := manifest.Lookup(fields, strings.Split(table.Path, ".")...)
	if !there {
		return nil
	}
	full, _ := manifest.Lookup(defaulted, strings.Split(table.Path, ".")...)
	switch {
	case table.List:
		return w.list(table, value, fields)
	case len(table.Labels) > 0:
		return w.labelled(table, value, fields)
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	fullInner, _ := full.(map[string]any)
	rest := runtime.DeepCopyJSON(inner)
	items, ok := w.body(table, rest, fullInner)
	if !ok || len(items) == 0 && len(rest) > 0 {
		return nil
	}
	removePath(fields, table.Path)
	if len(rest) > 0 {
		maps.Copy(manifest.Ensure(fields, strings.Split(table.Path, ".")...), rest)
	}
	return []item{{text: joinBlock(table.Type, items), block: true}}
}

// list writes the elements of a list. manifest replaces lists as a whole, so list writes either all
// of them or none.
func (w writer) list(table schemas.Block, value any, fields map[string]any) (items []item) {
	elements, ok := value.([]any)
	if !ok || len(elements) == 0 {
		return nil
	}
	for _, element := range elements {
		inner, ok := w.whole(table, table.Type, element)
		if !ok {
			return nil
		}
		items = append(items, inner)
	}
	removePath(fields, table.Path)
	return items
}

func (w writer) labelled(table schemas.Block, value any, fields map[string]any) (items []item) {
	entries, _ := value.(map[string]any)
	for _, label := range sortedKeys(entries) {
		inner, ok := w.whole(table, table.Type+" "+syntax.Quote(label), entries[label])
		if !ok {
			continue
		}
		items = append(items, inner)
		removePath(fields, table.Path+"."+label)
	}
	return items
}

// whole writes a block, if no field is left over.
func (w writer) whole(table schemas.Block, header string, value any) (item, bool) {
	inner, ok := value.(map[string]any)
	if !ok {
		return item{}, false
	}
	rest := runtime.DeepCopyJSON(inner)
	items, ok := w.body(table, rest, inner)
	return item{text: joinBlock(header, items), block: true}, ok && len(rest) == 0
}
