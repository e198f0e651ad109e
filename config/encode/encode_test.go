package encode_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/encode"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// clusterOf returns the cluster block for objects, by the mode of their classes.
func clusterOf(objects map[string]map[string]any) string {
	of := config.Cluster{Name: "dev", Region: "us-ord"}
	for _, o := range objects {
		if manifest.Map(o, "metadata", "annotations")[schemas.AnnotationMode] == schemas.ModeInstance {
			of.Tier = schemas.ModeInstance
		}
		if manifest.Map(o, "metadata", "annotations")[schemas.AnnotationGPUPlans] == "true" {
			of.Tier, of.GPUPlans = "enterprise", true
		}
	}
	return encode.Cluster(of)
}

// compile compiles one file and returns the objects, by kind and name.
func compile(t *testing.T, src string) map[string]map[string]any {
	t.Helper()
	module, diags := config.Load(fstest.MapFS{"main.lke.hcl": {Data: []byte(src)}}, config.Options{})
	var compiled config.Compiled
	if !diags.HasErrors() {
		var compileDiags hcl.Diagnostics
		compiled, compileDiags = module.Compile()
		diags = append(diags, compileDiags...)
	}
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	return manifests(compiled.Objects)
}

func manifests(resources []config.Object) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, r := range resources {
		all[strings.Join([]string{r.Kind(), r.Namespace(), r.Name()}, "/")] = r.Manifest
	}
	return all
}

// encoded writes objects without defaults as one file.
func encoded(t *testing.T, objects ...map[string]any) string {
	t.Helper()
	var list []config.Object
	for _, o := range objects {
		list = append(list, config.Object{Manifest: o, Defaulted: o})
	}
	blocks, err := encode.Blocks(list)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.HCL)
	}
	return strings.Join(texts, "\n")
}

// roundTrip writes objects and compiles the result.
func roundTrip(t *testing.T, objects map[string]map[string]any) string {
	t.Helper()
	var list []map[string]any
	for _, o := range objects {
		list = append(list, o)
	}
	src := encoded(t, list...)
	formatted, _, diags := syntax.Format("main.lke.hcl", []byte(src))
	if diags.HasErrors() || string(formatted) != src {
		t.Errorf("not in the canonical format: %v (-formatted +written)\n%s", diags, cmp.Diff(string(formatted), src))
	}
	if diff := cmp.Diff(objects, compile(t, clusterOf(objects)+src)); diff != "" {
		t.Errorf("(-before +after)\n%s\n%s", diff, src)
	}
	return src
}

// TestBlocks writes the objects of each archive as HCL, which compiles to them again.
func TestBlocks(t *testing.T) {
	golden.Archives(t, "testdata", func(files fstest.MapFS) map[string]string {
		return map[string]string{"want.hcl": roundTrip(t, documents(t, string(files["objects.yaml"].Data)))}
	})
}

func documents(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	var list []config.Object
	for document := range strings.SplitSeq(text, "---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(asJSON, &object); err != nil {
			t.Fatal(err)
		}
		list = append(list, config.Object{Manifest: object})
	}
	return manifests(list)
}

// TestCompiledObjectsRoundTrip: the objects of each example, and of each directory in the
// compiler's tests, are written as HCL that compiles to them again.
func TestCompiledObjectsRoundTrip(t *testing.T) {
	for name, files := range directories(t) {
		t.Run(name, func(t *testing.T) {
			module, diags := config.Load(files, config.Options{Dir: name[strings.Index(name, ":")+1:]})
			if diags.HasErrors() {
				t.Skip("does not load; for others to test")
			}
			compiled, diags := module.Compile()
			if diags.HasErrors() || len(compiled.Objects) == 0 {
				t.Skip("does not compile without variables, or to nothing")
			}
			roundTrip(t, manifests(compiled.Objects))
		})
	}
}

// directories returns root directories, as "WHERE:DIR".
func directories(t *testing.T) map[string]fs.FS {
	t.Helper()
	all := map[string]fs.FS{}
	archives, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, archive := range archives {
		parsed, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		files, dir := fstest.MapFS{}, "."
		for _, f := range parsed.Files {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
			if f.Name == "dir" {
				dir = strings.TrimSpace(string(f.Data))
			}
		}
		all[filepath.Base(archive)+":"+dir] = files
	}
	examples := os.DirFS("../../examples")
	err = fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".hcl" {
			all["examples:"+path.Dir(name)] = examples
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// hostile lists texts with a meaning in HCL, YAML or a terminal.
func hostile() []string {
	return []string{
		"${var.x}", "%{ if true }", "$${", "$$${x}", "%%{", "%%%{x}", "$", "%", "${", "%{", `"`, `\`, `\"`, `\${`, "`", "'",
		"a\nb", "a\r\nb", "\t", "\n", "EOT", "<<EOT\nx\nEOT\n", "é", "日本", "\u2028", "\u00a0", "\ufeff", "😀", "\x00", "\x1b[31m", "\x7f",
		"null", "true", "007", "1e3", "-1", "", " ", "#", "//", "/*", "for", "each.key", "$ {", "${\"${\"}",
	}
}

// TestHostileTextRoundTrips puts such texts in all places for text.
func TestHostileTextRoundTrips(t *testing.T) {
	for _, text := range hostile() {
		t.Run(text, func(t *testing.T) { survives(t, text) })
	}
}

func FuzzText(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if cty.NormalizeString(text) != text || strings.ToValidUTF8(text, "") != text {
			t.Skip("HCL has no such text")
		}
		survives(t, text)
	})
}

func survives(t *testing.T, text string) {
	t.Helper()
	labels := map[string]any{"example.com/a": text}
	if text != "" {
		labels[text] = "a"
	}
	pool := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
		"metadata": map[string]any{"name": "a", "annotations": runtime.DeepCopyJSON(labels)},
		"spec": map[string]any{
			"somethingNew": runtime.DeepCopyJSON(labels),
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": text},
					"requirements": []any{
						map[string]any{"key": "example.com/b", "operator": "NotIn", "values": []any{text}},
						map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}},
					},
				},
			},
		},
	}
	if text == "" {
		delete(pool["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["nodeClassRef"].(map[string]any), "name")
		t.Skip("a reference without a name is none")
	}
	roundTrip(t, map[string]map[string]any{"NodePool//a": pool})
}
