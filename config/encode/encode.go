// Package encode writes Kubernetes objects as HCL, the inverse of package config. It uses the same
// table, so each argument that can be compiled can be written. It is pure and makes no decisions
// about a cluster. The HCL is equivalent to the object; to verify this, compile it and compare.
package encode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Block is one object as HCL.
type Block struct {
	Addr config.Addr
	Name string // of the object in the cluster
	HCL  string // formatted, with a final line end
}

// Blocks writes objects as blocks, classes first and then by name. Objects of one kind must have
// different names. It fails for kinds without a block. Manifest contains the fields to write,
// without those that the API server sets; Defaulted provides the values of required arguments. The
// label of a block is the name in the object's address, or is derived from the object's name if it
// has no address.
func Blocks(objects []config.Object) ([]Block, error) {
	tables := schemas.Document()
	tableOf := func(o config.Object) int {
		return slices.IndexFunc(tables, func(t schemas.Block) bool { return t.Object != nil && t.Object.Kind == o.Kind() })
	}
	sorted := slices.Clone(objects)
	for _, o := range sorted {
		if tableOf(o) < 0 {
			return nil, fmt.Errorf("kind %s has no block", o.Kind())
		}
	}
	slices.SortStableFunc(sorted, func(a, b config.Object) int {
		return cmp.Or(cmp.Compare(tableOf(a), tableOf(b)), strings.Compare(a.Name(), b.Name()),
			strings.Compare(a.Namespace(), b.Namespace()))
	})
	labels := labelsOf(sorted)
	byKey := map[manifest.Key]string{} // objects that others refer to have no namespace
	for i, o := range sorted {
		byKey[manifest.Key{Kind: o.Kind(), Name: o.Name()}] = labels[i]
	}
	blocks := make([]Block, len(sorted))
	for i, o := range sorted {
		table := tables[tableOf(o)]
		w := writer{label: labels[i], labels: byKey}
		blocks[i] = Block{Addr: config.Addr{Type: table.Type, Name: labels[i]}, Name: o.Name(), HCL: w.object(table, o)}
	}
	return blocks, nil
}

// Cluster writes the cluster block.
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

// Import writes the import block that takes over an object.
func Import(b Block) string {
	return format(fmt.Sprintf("%s {\nto = %s\nid = %s\n}\n", schemas.Import.Type, b.Addr, syntax.Quote(b.Name)))
}

func format(src string) string { return string(hclwrite.Format([]byte(src))) }

// labelsOf chooses the labels of blocks: the object's name in a form that compiles to the same
// name, or else a similar one. Labels depend only on names, so repeated imports give the same
// labels.
func labelsOf(objects []config.Object) []string {
	labels := make([]string, len(objects))
	taken := map[string]bool{}
	for i, o := range objects {
		of := schemas.TypeOf(o.Kind())
		label := cmp.Or(o.Addr.Name, strings.NewReplacer("-", "_", ".", "_").Replace(o.Name()))
		if !hclsyntax.ValidIdentifier(label) {
			label = of + "_" + label
		}
		free := label
		for n := 2; taken[of+" "+free]; n++ {
			free = fmt.Sprintf("%s_%d", label, n)
		}
		taken[of+" "+free] = true
		labels[i] = free
	}
	return labels
}

// removePath removes the field at a path, and the maps around it that become empty.
func removePath(obj map[string]any, path string) { takeSteps(obj, schemas.Steps(path)) }

func takeSteps(obj map[string]any, steps []string) {
	if len(steps) == 1 {
		delete(obj, steps[0])
		return
	}
	if inner, ok := obj[steps[0]].(map[string]any); ok {
		takeSteps(inner, steps[1:])
		if len(inner) == 0 {
			delete(obj, steps[0])
		}
	}
}

// writtenFields copies the fields to write, without the fields of a class that the cluster block sets.
func writtenFields(object map[string]any) map[string]any {
	fields := runtime.DeepCopyJSON(object)
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
