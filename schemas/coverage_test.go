package schemas_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
)

// unmapped lists the fields without an argument, with the reason. The argument manifest can set
// them.
var unmapped = map[string]string{
	"NodePool spec.template.spec.taints.*.timeAdded":        "set by Kubernetes when a taint is added to a node",
	"NodePool spec.template.spec.startupTaints.*.timeAdded": "set by Kubernetes when a taint is added to a node",
	"LinodeNodeClass spec.swapSize":                         "the same as spec.swap_size",
}

// TestCoverage compares the table with the CRDs: each field has a row or a reason, and each row a
// field. A new version of Karpenter that adds a field fails here until the field gets one of them.
func TestCoverage(t *testing.T) {
	for _, block := range schemas.Document() {
		if block.Object == nil {
			continue
		}
		t.Run(block.Type, func(t *testing.T) {
			rows := paths(block, "")
			schema, namespaced := definition(t, block.Object)
			fields := leaves(schema, "")
			if namespaced {
				fields = append(fields, "metadata.namespace")
			}
			for _, field := range fields {
				_, excused := unmapped[block.Object.Kind+" "+field]
				if !slices.ContainsFunc(rows, func(row string) bool { return match(field, row) }) && !excused {
					t.Errorf("the field %s has no row in the table and no reason in unmapped", field)
				}
			}
			for _, row := range rows {
				if !slices.ContainsFunc(fields, func(field string) bool { return match(field, row) }) {
					t.Errorf("the row %s is not a field", row)
				}
			}
		})
	}
}

// paths lists the fields that a block's rows set. A star stands for an index or a label.
func paths(block schemas.Block, prefix string) (list []string) {
	prefix = strings.Trim(prefix+"."+block.Path, ".")
	if block.List || block.Object == nil && len(block.Labels) > 0 {
		prefix += ".*"
	}
	for _, arg := range block.Args {
		if arg.Path == "" || strings.HasPrefix(arg.Path, "metadata.annotations[") { // an annotation of lkeplan
			continue
		}
		for _, field := range written(arg.Kind) {
			list = append(list, strings.Trim(prefix+"."+arg.Path+field, "."))
		}
	}
	for _, nested := range block.Blocks {
		list = append(list, paths(nested, prefix)...)
	}
	return list
}

// written lists the fields that a value of a kind sets below its path.
func written(kind schemas.Kind) []string {
	switch kind {
	case schemas.Strings, schemas.Tags, schemas.PoolRefs:
		return []string{".*"}
	case schemas.Taints:
		return []string{".*.key", ".*.value", ".*.effect"}
	case schemas.Requirements:
		return []string{".*.key", ".*.operator", ".*.values.*", ".*.minValues"}
	case schemas.Selector:
		return []string{".*.key", ".*.operator", ".*.values.*"}
	case schemas.NodeClassRef:
		return []string{".group", ".kind", ".name"}
	}
	return []string{""}
}

// definition returns the schema of a version of an object, and whether the object is namespaced.
func definition(t *testing.T, object *schemas.Object) (schema *apiextensionsv1.JSONSchemaProps, namespaced bool) {
	t.Helper()
	for _, d := range definitions(t) {
		for _, version := range d.Spec.Versions {
			if d.Spec.Group+"/"+version.Name == object.APIVersion && d.Spec.Names.Kind == object.Kind {
				return version.Schema.OpenAPIV3Schema, d.Spec.Scope == apiextensionsv1.NamespaceScoped
			}
		}
	}
	t.Fatalf("no definition of %v", object)
	return nil, false
}

// definitions returns all CRDs.
func definitions(t *testing.T) (crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, file := range schemas.CRDs() {
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(file.YAML, d); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, d)
	}
	return crds
}

// leaves lists the fields that have no subfields, except those that all objects have or that users
// cannot set.
func leaves(schema *apiextensionsv1.JSONSchemaProps, path string) (list []string) {
	switch {
	case path == "metadata":
		return []string{"metadata.name", "metadata.labels", "metadata.annotations"}
	case path == "apiVersion" || path == "kind" || path == "status":
		return nil
	case schema.Items != nil && schema.Items.Schema != nil:
		return leaves(schema.Items.Schema, path+".*")
	case len(schema.Properties) == 0:
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		list = append(list, leaves(&property, strings.Trim(path+"."+name, "."))...)
	}
	return list
}

// match compares paths. A star stands for any key or index.
func match(field, row string) bool {
	fields, rows := strings.Split(field, "."), strings.Split(row, ".")
	return slices.EqualFunc(fields, rows, func(f, r string) bool { return f == r || r == "*" })
}
