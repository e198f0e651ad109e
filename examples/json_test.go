package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
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

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
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

// TestExamplesAsJSON translates each example to JSON, and each document of the
// compiler's tests. The schema takes what comes out, and it compiles to the
// same objects.
func TestExamplesAsJSON(t *testing.T) {
	s := schema(t)
	for name, original := range documents(t) {
		for _, dir := range roots(t, original) {
			t.Run(path.Join(name, dir), func(t *testing.T) {
				want, diags := manifests(original, dir)
				if diags.HasErrors() {
					t.Skip("it has errors on purpose")
				}
				translated := fstest.MapFS{}
				for file, src := range original {
					if !strings.HasSuffix(file, ".lke.hcl") {
						translated[file] = src
						continue
					}
					document, ok := translate(file, src.Data)
					if !ok { // and is not to be read either
						translated[file] = src
						continue
					}
					if err := s.Validate(instance(t, document)); err != nil {
						t.Errorf("%s: %v", file, err)
					}
					text, err := json.MarshalIndent(document, "", "  ")
					if err != nil {
						t.Fatal(err)
					}
					translated[strings.TrimSuffix(file, ".hcl")+".json"] = &fstest.MapFile{Data: text}
				}
				got, diags := manifests(translated, dir)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-HCL +JSON)\n%s", diff)
				}
			})
		}
	}
}

// documents are the examples, as one tree, and the compiler's tests, each as
// one.
func documents(t *testing.T) map[string]fstest.MapFS {
	t.Helper()
	trees := map[string]fstest.MapFS{"examples": {}}
	examples := os.DirFS(".")
	err := fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(examples, name)
		trees["examples"][name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	archives, _ := filepath.Glob("../config/testdata/*.txtar")
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tree := fstest.MapFS{}
		for _, f := range archive.Files {
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		trees[strings.TrimSuffix(filepath.Base(name), ".txtar")] = tree
	}
	return trees
}

// roots are the directories of a tree that name a cluster in native syntax.
func roots(t *testing.T, tree fstest.MapFS) (dirs []string) {
	t.Helper()
	for name, file := range tree {
		if strings.HasSuffix(name, ".lke.hcl") && bytes.Contains(append([]byte("\n"), file.Data...), []byte("\ncluster {")) {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// manifests are the objects that a directory compiles to.
func manifests(tree fstest.MapFS, dir string) ([]map[string]any, hcl.Diagnostics) {
	compiled, diags := compile.Dir(context.Background(), tree, compile.Options{Options: config.Options{Dir: dir}})
	return compiled.Manifests(), diags
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
func translate(name string, src []byte) (map[string]any, bool) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, false
	}
	return translateBody(file.Body.(*hclsyntax.Body), src), true
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
