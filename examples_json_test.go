package lkeplan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/schemas"
)

// schema is the schema of *.lke.json files, compiled. That it is valid against
// its metaschema is checked on the way.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("lke.schema.json", instance(t, schemas.JSONSchema())); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("lke.schema.json")
	if err != nil {
		t.Fatalf("%#v", err)
	}
	return s
}

// instance takes a value through JSON, as the validator wants it.
func instance(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return parseJSON(t, text)
}

func parseJSON(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMetaschema holds the schema to the draft it names, and to naming it.
func TestMetaschema(t *testing.T) {
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	v := instance(t, schemas.JSONSchema())
	if err := meta.Validate(v); err != nil {
		t.Error(err)
	}
	if got := v.(map[string]any)["$schema"]; got != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v", got)
	}
}

// TestExamplesAsJSON translates each example to JSON. The schema takes what
// comes out, and it compiles to the same objects.
func TestExamplesAsJSON(t *testing.T) {
	s := schema(t)
	for dir, files := range exampleFiles(t) {
		t.Run(dir, func(t *testing.T) {
			translated := fstest.MapFS{}
			for name, src := range files {
				if !strings.HasSuffix(name, ".lke.hcl") {
					translated[name] = &fstest.MapFile{Data: src}
					continue
				}
				document := translate(t, name, src)
				if err := s.Validate(instance(t, document)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				text, err := json.MarshalIndent(document, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				translated[strings.TrimSuffix(name, ".hcl")+".json"] = &fstest.MapFile{Data: text}
			}
			original := fstest.MapFS{}
			for name, src := range files {
				original[name] = &fstest.MapFile{Data: src}
			}
			if diff := cmp.Diff(manifests(t, original), manifests(t, translated)); diff != "" {
				t.Errorf("(-HCL +JSON)\n%s", diff)
			}
		})
	}
}

// exampleFiles are the examples, and the documents of the compiler's tests, by
// directory and name.
func exampleFiles(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	examples := map[string]map[string][]byte{}
	paths, _ := filepath.Glob("examples/*/*.hcl")
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(path))
		if examples[dir] == nil {
			examples[dir] = map[string][]byte{}
		}
		examples[dir][filepath.Base(path)] = src
	}
	for _, name := range []string{"smallest", "fleet", "production", "node_class"} {
		archive, err := txtar.ParseFile("config/testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".hcl") {
				files[f.Name] = f.Data
			}
		}
		examples["test "+name] = files
	}
	return examples
}

func manifests(t *testing.T, fsys fstest.MapFS) []map[string]any {
	t.Helper()
	compiled, diags := engine.Compile(context.Background(), fsys, engine.CompileOptions{})
	if diags.HasErrors() {
		var text bytes.Buffer
		if err := diag.Text(&text, diag.New(diags, compiled.Files), false); err != nil {
			t.Fatal(err)
		}
		t.Fatal(text.String())
	}
	return compiled.Manifests()
}

// TestSchemaRefuses holds that the schema finds what editors are to underline.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for _, document := range []string{
		`{"pol": {}}`,
		`{"pool": {"web": {"wieght": 1}}}`,
		`{"pool": {"web": {}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "weight": 1.5}}}`,
		`{"pool": {"web": {"node_class": "default"}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "expire_after": "30d"}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "taints": ["team=web"]}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "requirements": {"cpus": 4}}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "disruption": {"budget": {}}}}}`,
		`{"pool": {"web": {"node_class": "${node_class.a}", "dynamic": {"limits": {}}}}}`,
		`{"pool": {"a b": {"node_class": "${node_class.a}"}}}`,
		`{"cluster": {"name": "dev", "region": "us-ord", "tier": "big"}}`,
		`{"node_class": {"a": {"firewall_id": 0}}}`,
		`7`,
	} {
		if err := s.Validate(parseJSON(t, []byte(document))); err == nil {
			t.Errorf("it takes %s", document)
		}
	}
	for _, document := range []string{
		`{}`,
		`[{"//": "why"}, {"pool": [{"web": [{"node_class": "${node_class.a}"}]}]}]`,
		`{"pool": {"web": {"node_class": {"kind": "LinodeNodeClass", "name": "old"}, "weight": "${var.weight}", "replicas": null}}}`,
		`{"locals": {"a": 1}, "module": {"m": {"source": "../m", "anything": [1]}}}`,
	} {
		if err := s.Validate(parseJSON(t, []byte(document))); err != nil {
			t.Errorf("it refuses %s: %v", document, err)
		}
	}
}

// translate writes a document as JSON has it: what is plain becomes a value,
// any other expression a template.
func translate(t *testing.T, name string, src []byte) map[string]any {
	t.Helper()
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return translateBody(file.Body.(*hclsyntax.Body), src)
}

func translateBody(body *hclsyntax.Body, src []byte) map[string]any {
	fields := map[string]any{}
	for name, attr := range body.Attributes {
		fields[name] = translateExpression(attr.Expr, src, name == "type")
	}
	for _, block := range body.Blocks {
		at := fields
		for _, key := range append([]string{block.Type}, block.Labels...)[:len(block.Labels)] {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		key := append([]string{block.Type}, block.Labels...)[len(block.Labels)]
		list, _ := at[key].([]any)
		at[key] = append(list, translateBody(block.Body, src))
	}
	return fields
}

func translateExpression(expr hclsyntax.Expression, src []byte, verbatim bool) any {
	text := string(expr.Range().SliceBytes(src))
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return ctyjson.SimpleJSONValue{Value: e.Val}
	case *hclsyntax.TupleConsExpr:
		list := []any{}
		for _, item := range e.Exprs {
			list = append(list, translateExpression(item, src, false))
		}
		return list
	case *hclsyntax.ObjectConsExpr:
		return translateObject(e, src)
	case *hclsyntax.TemplateExpr:
		if e.IsStringLiteral() {
			v, _ := e.Value(nil)
			return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString())
		}
	}
	if verbatim {
		return text
	}
	return fmt.Sprintf("${%s}", text)
}

func translateObject(e *hclsyntax.ObjectConsExpr, src []byte) any {
	fields := map[string]any{}
	for _, item := range e.Items {
		key, diags := item.KeyExpr.Value(nil)
		name := fmt.Sprintf("${%s}", item.KeyExpr.Range().SliceBytes(src))
		if !diags.HasErrors() && key.Type() == cty.String {
			name = key.AsString()
		}
		fields[name] = translateExpression(item.ValueExpr, src, false)
	}
	return fields
}
