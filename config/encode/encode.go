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
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Block is one object as HCL.
type Block struct {
	Addr config.Addr
	Name string // of the object in the cluster
	HCL  string // formatted, with a line end
}

// Blocks writes objects as blocks, classes first and then by name. Objects of
// one kind must have different names. It fails for kinds that have no block.
//
// Manifest has the fields to write, and nothing that the API server writes
// besides them; Defaulted has the values of arguments that must be there all the
// same. The label is the name of the object's address, or one that follows from
// the object's name where it has none.
func Blocks(objects []config.Object) ([]Block, error) {
	tables, order := tablesByKind()
	sorted := slices.Clone(objects)
	for _, o := range sorted {
		if _, ok := tables[o.Kind()]; !ok {
			return nil, fmt.Errorf("there is no block for a %s", o.Kind())
		}
	}
	slices.SortStableFunc(sorted, func(a, b config.Object) int {
		return cmp.Or(cmp.Compare(order[a.Kind()], order[b.Kind()]), strings.Compare(a.Name(), b.Name()),
			strings.Compare(a.Namespace(), b.Namespace()))
	})
	labels := labelsOf(sorted, tables)
	addressed := byKey(sorted, labels)
	blocks := make([]Block, len(sorted))
	for i, o := range sorted {
		table := tables[o.Kind()]
		w := writer{label: labels[i], labels: addressed}
		blocks[i] = Block{Addr: config.Addr{Type: table.Type, Name: labels[i]}, Name: o.Name(), HCL: w.object(table, o)}
	}
	return blocks, nil
}

// Cluster writes the block for the cluster that a directory is for.
func Cluster(c config.Cluster) string {
	lines := []string{"name = " + syntax.Quote(c.Name), "region = " + syntax.Quote(c.Region)}
	switch {
	case c.Instances():
		lines = append(lines, "mode = "+syntax.Quote(schemas.ModeInstance))
	case c.Tier != "":
		lines = append(lines, "tier = "+syntax.Quote(c.Tier))
	}
	if c.GPUPlans {
		lines = append(lines, "gpu_plans = true")
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
// compiles to this name again, else a similar one. Labels depend on
// names only, so importing again gives the same.
func labelsOf(objects []config.Object, tables map[string]schemas.Block) []string {
	labels := make([]string, len(objects))
	taken := map[string]bool{}
	for i, o := range objects {
		table := tables[o.Kind()]
		label := cmp.Or(o.Addr.Name, strings.NewReplacer("-", "_", ".", "_").Replace(o.Name()))
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

// byKey finds the label of an object's block. What is referred to has no
// namespace.
func byKey(objects []config.Object, labels []string) map[manifest.Key]string {
	m := map[manifest.Key]string{}
	for i, o := range objects {
		m[manifest.Key{Kind: o.Kind(), Name: o.Name()}] = labels[i]
	}
	return m
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

// clone copies what is written, without what the block of the class does not say: the block of the
// cluster does.
func clone(object map[string]any) map[string]any {
	fields := copyOf(object).(map[string]any)
	delete(fields, "apiVersion")
	delete(fields, "kind")
	delete(fields, "status")
	metadata := manifest.Map(fields, "metadata")
	annotations := manifest.Map(metadata, "annotations")
	all := len(annotations)
	for _, key := range schemas.OfCluster() {
		delete(annotations, key)
	}
	if all > 0 && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
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
