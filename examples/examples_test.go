package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/testrun"
	"github.com/lkeplan/lkeplan/schemas"
)

// TestExamples compiles and validates every directory below examples that
// names a cluster, and holds all files to the canonical format.
func TestExamples(t *testing.T) {
	examples := os.DirFS(".")
	clusters := 0
	err := fs.WalkDir(examples, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".hcl" {
			return err
		}
		src, err := fs.ReadFile(examples, name)
		if err != nil {
			return err
		}
		if !bytes.Equal(src, hclwrite.Format(src)) {
			t.Errorf("%s is not in the canonical format", name)
		}
		if bytes.HasPrefix(src, []byte("cluster {")) || bytes.Contains(src, []byte("\ncluster {")) {
			clusters++
			t.Run(path.Dir(name), func(t *testing.T) { compiles(t, examples, path.Dir(name)) })
		}
		return nil
	})
	if err != nil || clusters == 0 {
		t.Fatalf("no examples: %v", err)
	}
}

func compiles(t *testing.T, fsys fs.FS, dir string) {
	opts := compile.Options{Options: config.Options{Dir: dir, Version: "0.3.0"}}
	compiled, diags := compile.Dir(context.Background(), fsys, opts)
	if len(diags) > 0 {
		var text bytes.Buffer
		if err := diag.Text(&text, diag.New(diags, compiled.Files), false); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s", text.String())
	}
	if len(compiled.Objects) == 0 {
		t.Error("compiles to nothing")
	}
}

// TestTests tries the tests of the examples.
func TestTests(t *testing.T) {
	examples := os.DirFS(".")
	files, err := fs.Glob(examples, "*/*"+schemas.TestSuffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, name := range files {
		dir := path.Dir(name)
		runs, _, diags := config.Read(examples, dir)
		if diags.HasErrors() {
			t.Error(diags)
		}
		opts := compile.Options{Options: config.Options{Dir: dir, Version: "0.3.0"}}
		for _, r := range runs {
			outcome := testrun.Try(context.Background(), testrun.Directory{FS: examples, Options: opts}, r)
			if outcome.Status != testrun.Passed {
				t.Errorf("%s: %s: %v", name, r.Name, outcome.Diagnostics)
			}
		}
	}
}

// TestRenovateFindsVersions: the expression of the preset finds versions of the standard tier, and no builds of Enterprise.
func TestRenovateFindsVersions(t *testing.T) {
	text, err := os.ReadFile("integrations/renovate.json")
	if err != nil {
		t.Fatal(err)
	}
	var preset struct {
		CustomManagers []struct{ MatchStrings []string }
	}
	if err := json.Unmarshal(text, &preset); err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile(preset.CustomManagers[0].MatchStrings[0])
	for line, want := range map[string]string{
		`  kubernetes_version = "1.33"`:       "1.33",
		`kubernetes_version="1.33"`:           "1.33",
		`kubernetes_version = "v1.31.8+lke1"`: "",
		`kubernetes_version = var.version`:    "",
	} {
		got := ""
		if match := expression.FindStringSubmatch(line); match != nil {
			got = match[expression.SubexpIndex("currentValue")]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestSideBySide holds the examples to what they are there to show: that
// main.lke.hcl compiles to objects.yaml, and how long each of the two is.
func TestSideBySide(t *testing.T) {
	tests := []struct {
		dir       string
		hcl, yaml int // lines, without blank ones and comments
	}{
		{"smallest", 11, 32},
		{"production", 50, 89},
		{"fleet", 78, 208},
	}
	for _, tt := range tests {
		t.Run(tt.dir, func(t *testing.T) {
			dir := os.DirFS("side-by-side/" + tt.dir)
			got := [2]int{lines(t, dir, "main.lke.hcl"), lines(t, dir, "objects.yaml")}
			if want := [2]int{tt.hcl, tt.yaml}; got != want {
				t.Errorf("%v lines of HCL and YAML, not %v", got, want)
			}
			compiled, diags := compile.Dir(context.Background(), dir, compile.Options{})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(objects(t, dir, "objects.yaml"), compiled.Manifests()); diff != "" {
				t.Errorf("the YAML and what the HCL compiles to (-yaml +hcl)\n%s", diff)
			}
		})
	}
}

// lines counts the lines of a file that say something.
func lines(t *testing.T, fsys fs.FS, name string) (n int) {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// objects reads the documents of a YAML file, whole numbers as int64.
func objects(t *testing.T, fsys fs.FS, name string) (list []map[string]any) {
	t.Helper()
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(asJSON, &object); err != nil {
			t.Fatal(err)
		}
		list = append(list, object)
	}
	return list
}
