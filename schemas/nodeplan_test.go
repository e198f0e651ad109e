package schemas_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

const nodePlanDoc = "nodeplan.md"

// TestNodePlanReference compares the tables of schemas/nodeplan.md with the CRD. With -update, as
// in make generate, it rewrites them.
func TestNodePlanReference(t *testing.T) {
	raw, err := os.ReadFile(nodePlanDoc)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- fields -->\n", "<!-- /fields -->\n"
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", nodePlanDoc)
	}
	want := head + begin + tables(t) + end + tail
	golden.File(t, nodePlanDoc, []byte(want))
}

// tables returns the tables of the spec with its objects, and of the status.
func tables(t *testing.T) string {
	t.Helper()
	for _, definition := range definitions(t) {
		if definition.Spec.Names.Kind == "NodePlan" {
			schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
			return table("spec", schema.Properties["spec"], true) + table("status", schema.Properties["status"], false)
		}
	}
	t.Fatal("no definition of NodePlan")
	return ""
}

func table(path string, schema apiextensionsv1.JSONSchemaProps, nested bool) string {
	var rows, inner strings.Builder
	fmt.Fprintf(&rows, "### `%s`\n\n| field | value | default | meaning |\n|---|---|---|---|\n", path)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		standard := "none"
		switch {
		case field.Default != nil:
			standard = "`" + string(field.Default.Raw) + "`"
		case slices.Contains(schema.Required, name):
			standard = "required"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", name, kind(field), standard,
			strings.Join(strings.Fields(field.Description), " "))
		if object := element(field); nested && len(object.Properties) > 0 {
			inner.WriteString(table(path+"."+name, object, nested))
		}
	}
	return rows.String() + "\n" + inner.String()
}

// element returns the schema of the elements of a list or map, or the field itself.
func element(field apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if field.Items != nil {
		return *field.Items.Schema
	}
	return field
}

func kind(field apiextensionsv1.JSONSchemaProps) string {
	switch {
	case field.Items != nil:
		return "list of " + kind(*field.Items.Schema)
	case len(field.Enum) > 0:
		var values []string
		for _, v := range field.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		return strings.Join(values, ", ")
	case strings.Contains(field.Pattern, "ms|s|m|h"):
		return "duration"
	case field.Format == "date-time":
		return "time"
	}
	return cmp.Or(map[string]string{"string": "text", "integer": "whole number",
		"boolean": "true or false"}[field.Type], field.Type)
}

// TestReasonsAreDocumented: schemas/nodeplan.md explains each reason of a condition or event.
func TestReasonsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile(nodePlanDoc)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "lkeplan/v1alpha1/nodeplan_status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			reasons++
			if value := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`); !strings.Contains(string(raw),
				"\n| `"+value+"` |") {
				t.Errorf("%s does not explain %s", nodePlanDoc, value)
			}
		}
		return true
	})
	if reasons == 0 {
		t.Error("found no reasons")
	}
}

// TestAcceptedDurationsCanBeParsed: a single NodePlan that cannot be decoded would break listing
// all NodePlans of the cluster.
func TestAcceptedDurationsCanBeParsed(t *testing.T) {
	all := definitions(t)
	i := slices.IndexFunc(all,
		func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Spec.Names.Kind == "NodePlan" })
	spec := all[i].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	for name, field := range map[string]apiextensionsv1.JSONSchemaProps{
		"interval": spec["interval"], "retryInterval": spec["retryInterval"], "timeout": spec["timeout"],
	} {
		pattern, passed := regexp.MustCompile(field.Pattern), 0
		for _, text := range []string{"1h", "1h30m", "0.5s", "999999h999999h99999h", "9999999999h",
			strings.Repeat("999999h", 3)} {
			if !pattern.MatchString(text) || field.MaxLength != nil && int64(len(text)) > *field.MaxLength {
				continue
			}
			passed++
			if _, err := time.ParseDuration(text); err != nil {
				t.Errorf("%s can be %s: %v", name, text, err)
			}
		}
		if passed < 4 {
			t.Errorf("%s: %d durations pass, want those that can be parsed", name, passed)
		}
	}
}
