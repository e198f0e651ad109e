// Package encode writes Kubernetes objects as HCL: it is the way back from what
// package config compiles. It reads the same table, so an argument that can be
// compiled can be written.
//
// It is pure and decides nothing about a cluster. What it writes says the same
// as the object does; whoever wants to be sure compiles it and compares.
package encode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// An Object is what is to be written as a block.
type Object struct {
	// Manifest has the fields to write, as JSON has them, whole numbers as
	// int64, and nothing that the API server writes beside them.
	Manifest map[string]any
	// Defaulted has those with a default too, for arguments that must be there.
	Defaulted map[string]any
	// Label is the label of the block; "" stands for one that follows from the
	// object's name.
	Label string
}

// A Block is one object as HCL.
type Block struct {
	Addr config.Addr
	Name string // of the object in the cluster
	HCL  string // formatted, with a line end
}

// Blocks writes objects as blocks, classes first and then by name. Objects of
// one kind must have different names. It fails for kinds that have no block.
func Blocks(objects []Object) ([]Block, error) {
	tables, order := tablesByKind()
	sorted := slices.Clone(objects)
	for _, o := range sorted {
		if _, ok := tables[o.kind()]; !ok {
			return nil, fmt.Errorf("there is no block for a %s", o.kind())
		}
	}
	slices.SortStableFunc(sorted, func(a, b Object) int {
		return cmp.Or(cmp.Compare(order[a.kind()], order[b.kind()]), strings.Compare(a.name(), b.name()),
			strings.Compare(text(a.Manifest, "metadata", "namespace"), text(b.Manifest, "metadata", "namespace")))
	})
	labels := labelsOf(sorted, tables)
	addressed := byName(sorted, labels)
	blocks := make([]Block, len(sorted))
	for i, o := range sorted {
		table := tables[o.kind()]
		w := writer{label: labels[i], labels: addressed}
		blocks[i] = Block{Addr: config.Addr{Type: table.Type, Name: labels[i]}, Name: o.name(), HCL: w.object(table, o)}
	}
	return blocks, nil
}

func (o Object) kind() string { return text(o.Manifest, "kind") }

func (o Object) name() string { return text(o.Manifest, "metadata", "name") }

// Cluster writes the block for the cluster that a directory is for.
func Cluster(c config.Cluster) string {
	lines := []string{"name = " + syntax.Quote(c.Name), "region = " + syntax.Quote(c.Region)}
	if c.Tier != "" {
		lines = append(lines, "tier = "+syntax.Quote(c.Tier))
	}
	return format(schemas.Cluster.Type + " {\n" + strings.Join(lines, "\n") + "\n}\n")
}

// Import writes the permission to take an object over.
func Import(b Block) string {
	return format(fmt.Sprintf("%s {\nto = %s\nid = %s\n}\n", schemas.Import.Type, b.Addr, syntax.Quote(b.Name)))
}

func format(src string) string { return string(hclwrite.Format([]byte(src))) }

// tablesByKind returns the blocks that compile to objects, and the order they
// have in the language.
func tablesByKind() (tables map[string]schemas.Block, order map[string]int) {
	tables, order = map[string]schemas.Block{}, map[string]int{}
	for i, table := range schemas.Document() {
		if table.Object != nil {
			tables[table.Object.Kind], order[table.Object.Kind] = table, i
		}
	}
	return tables, order
}

// labelsOf chooses the labels of blocks: the object's name in the form that
// compiles to this name again, else one that is near to it. Labels depend on
// names alone, so importing again gives the same.
func labelsOf(objects []Object, tables map[string]schemas.Block) []string {
	labels := make([]string, len(objects))
	taken := map[string]bool{}
	for i, o := range objects {
		table := tables[o.kind()]
		label := cmp.Or(o.Label, strings.NewReplacer("-", "_", ".", "_").Replace(o.name()))
		if !hclsyntax.ValidIdentifier(label) {
			label = table.Type + "_" + label
		}
		free := label
		for n := 2; taken[table.Type+" "+free]; n++ {
			free = fmt.Sprintf("%s_%d", label, n)
		}
		taken[table.Type+" "+free] = true
		labels[i] = free
	}
	return labels
}

// byName maps "KIND NAME" to the label of the object's block.
func byName(objects []Object, labels []string) map[string]string {
	m := map[string]string{}
	for i, o := range objects {
		m[o.kind()+" "+o.name()] = labels[i]
	}
	return m
}

// text returns a string inside an object; "" where it is none.
func text(obj map[string]any, path ...string) string {
	var value any = obj
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	s, _ := value.(string)
	return s
}

// lookup returns the field at a path.
func lookup(obj map[string]any, path string) (any, bool) {
	var value any = obj
	for key := range strings.SplitSeq(path, ".") {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = fields[key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// take removes the field at a path, and what is around it where that has
// nothing else.
func take(obj map[string]any, path string) {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		delete(obj, first)
		return
	}
	if inner, ok := obj[first].(map[string]any); ok {
		take(inner, rest)
		if len(inner) == 0 {
			delete(obj, first)
		}
	}
}

// clone copies what is written, without what no block says.
func clone(manifest map[string]any) map[string]any {
	fields := copyOf(manifest).(map[string]any)
	delete(fields, "apiVersion")
	delete(fields, "kind")
	delete(fields, "status")
	return fields
}

// copyOf copies what JSON can hold.
func copyOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, value := range v {
			fields[key] = copyOf(value)
		}
		return fields
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = copyOf(element)
		}
		return list
	}
	return v
}
