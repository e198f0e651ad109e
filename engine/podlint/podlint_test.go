package podlint_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/podlint"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

var update = flag.Bool("update", false, "write what is found into the archives")

// TestPodsAndPools has archives of a directory with manifests and what is found: for each
// rule one in which it fires, and one in which it does not.
func TestPodsAndPools(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			got := found(t, files)
			if *update {
				rewrite(t, name, archive, got)
			} else if diff := cmp.Diff(files["found"], got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for rule := range strings.FieldsSeq(string(archive.Comment)) {
				if strings.Contains(got, rule+" ") {
					fires[rule] = true
				} else {
					silent[rule] = true
				}
			}
		})
	}
	for _, rule := range lint.Rules() {
		if rule.Pods && (!fires[rule.Name] || !silent[rule.Name]) {
			t.Errorf("%s: fires in an archive that names it: %v, is silent in one: %v", rule.Name, fires[rule.Name],
				silent[rule.Name])
		}
	}
}

func rewrite(t *testing.T, name string, archive *txtar.Archive, found string) {
	t.Helper()
	for i := range archive.Files {
		if archive.Files[i].Name == "found" {
			archive.Files[i].Data = []byte(found)
		}
	}
	if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// found compiles the directory, and writes what is found, a line for each.
func found(t *testing.T, files map[string]string) string {
	t.Helper()
	main := files["main.lke.hcl"]
	if !strings.HasPrefix(main, "cluster {") {
		main = "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n\n" + main
	}
	compiled, diags := compile.Dir(t.Context(), fstest.MapFS{"main.lke.hcl": {Data: []byte(main)}}, compile.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	objects, err := manifests.Read("pods.yaml", strings.NewReader(files["pods.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	pods, err := workload.Read(objects, false)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	in := simulate.Input{
		Region: compiled.Cluster.Region, Catalog: prices, Pods: pods.Pods,
	}
	for _, o := range compiled.Objects {
		typed, err := cluster.Decode(o.Defaulted)
		if err != nil {
			t.Fatal(err)
		}
		in.Objects = append(in.Objects, typed)
	}
	report, err := podlint.Check(t.Context(), compiled.Objects, in)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range report.Findings {
		lines = append(lines, f.Name+" "+f.Addr.String()+" "+f.Path+"\n  "+f.Message+"\n")
	}
	for _, s := range report.Skipped {
		lines = append(lines, "not looked at: "+s.Rule+": "+s.Why+"\n")
	}
	return strings.Join(lines, "")
}

// TestRulesAreSkippedWithoutPods, and it is said of each rule.
func TestRulesAreSkippedWithoutPods(t *testing.T) {
	report, err := podlint.Check(t.Context(), nil, simulate.Input{Region: "us-ord"})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, rule := range lint.Rules() {
		if rule.Pods {
			want = append(want, rule.Name)
		}
	}
	for _, s := range report.Skipped {
		got = append(got, s.Rule)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(report.Findings) > 0 {
		t.Errorf("findings: %v; (-want +got)\n%s", report.Findings, diff)
	}
}
