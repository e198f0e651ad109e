package compile_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

func lintFiles(files fstest.MapFS) hcl.Diagnostics {
	_, diags := compile.Dir(context.Background(), files, compile.Options{})
	return diags
}

// TestLintBad has for each warning a document that gets it.
func TestLintBad(t *testing.T) { configtest.Bad(t, "testdata/lint/bad", lintFiles) }

// TestLintGood has for each of them a document that does it right, and gets
// no warning at all.
func TestLintGood(t *testing.T) {
	base, err := os.ReadFile("testdata/lint/good/base.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("testdata/lint/good/*.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range documents {
		t.Run(filepath.Base(path), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := fstest.MapFS{"main.lke.hcl": {Data: src}}
			if !bytes.HasPrefix(src, []byte("# only")) && filepath.Base(path) != "base.lke.hcl" {
				files["base.lke.hcl"] = &fstest.MapFile{Data: base}
			}
			for _, d := range lintFiles(files) {
				t.Errorf("%v: %s", d, d.Extra)
			}
		})
	}
}

// TestEveryRuleIsDocumented: a document of each name, bad and good, for what
// can be silenced; retired-plan needs a special catalogue, and others need pods.
func TestEveryRuleIsDocumented(t *testing.T) {
	elsewhere := []string{"retired-plan", "plan-out-of-stock", "plan-needs-capability"} // TestCatalogDeterminesKnownPlans
	for _, rule := range lint.Rules() {
		if rule.Fatal || rule.Pods || slices.Contains(elsewhere, rule.Name) {
			continue
		}
		for _, dir := range []string{"bad", "good"} {
			if _, err := os.Stat(filepath.Join("testdata/lint", dir, rule.Name+".lke.hcl")); err != nil {
				t.Error(err)
			}
		}
	}
}

const cluster = "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n"

// TestCatalogDeterminesKnownPlans: what depends on the catalogue is an error where it is
// current.
func TestCatalogDeterminesKnownPlans(t *testing.T) {
	cents := catalog.Price{Hourly: 10_000}
	plans := []catalog.Plan{
		{ID: "g6-old-1", Class: "standard", VCPUs: 2, MemoryMiB: 4096, Price: cents, Successor: "g7-new-1"},
		{ID: "g7-new-1", Class: "standard", VCPUs: 2, MemoryMiB: 4096, Price: cents},
		{ID: "g7-out-1", Class: "premium", VCPUs: 2, MemoryMiB: 4096, Price: cents},
		{ID: "g8-size-1", Class: "premium", Price: cents, From: "a list, 2026-10"},
		{ID: "g8-price-1", Class: "premium", VCPUs: 2, MemoryMiB: 4096, From: "a list, 2026-10"},
		{ID: "g8-price-2", Class: "dedicated", VCPUs: 2, MemoryMiB: 4096, From: "a list, 2026-10"},
		{ID: "g1-card-1", Class: "accelerated", VCPUs: 2, MemoryMiB: 4096, Price: cents},
	}
	regions := []catalog.Region{{ID: "us-ord", Capabilities: []string{
		catalog.CapKubernetes, catalog.CapLinodes, catalog.CapAccelerated, catalog.CapPremium,
	}}}
	own, err := catalog.New("2026-11-01", "a test", plans, regions, []catalog.Availability{{Region: "us-ord", Plan: "g7-out-1"}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, requirements string
		rule               string
		severity           hcl.DiagnosticSeverity
	}{
		{"a plan with a successor", `{ instance_type = "g6-old-1" }`, "retired-plan", hcl.DiagWarning},
		{"a plan that is not there", `{ instance_type = ["g7-new-1", "g6-standard-2"] }`, "unknown-plan", hcl.DiagError},
		{"a class that is not there", `{ class = "gpu" }`, "matches-no-plan", hcl.DiagError},
		{"a plan that was out of stock", `{ instance_type = "g7-out-1" }`, "plan-out-of-stock", hcl.DiagWarning},
		{"a plan without a size", `{ instance_type = "g8-size-1" }`, "plan-without-price", hcl.DiagWarning},
		{"a plan without a price, beside another", `{ instance_type = ["g7-new-1", "g8-price-1"] }`, "plan-without-price",
			hcl.DiagWarning},
		{"a pool that only a plan without a price is for", `{ class = "dedicated" }`, "plan-without-price", hcl.DiagWarning},
		{"accelerated plans", `{ class = "accelerated" }`, "plan-needs-capability", hcl.DiagWarning},
		{"more values than plans", `{ class = "standard", cpu = atleast(2, lte(4)) }`, "min-values-unsatisfiable", hcl.DiagError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{"main.lke.hcl": {Data: []byte(cluster +
				"\npool \"web\" {\n  node_class   = node_class.default\n  requirements = " + tt.requirements + "\n}\n")}}
			_, diags := compile.Dir(context.Background(), files, compile.Options{Catalog: own})
			if len(diags) != 1 || diags[0].Extra != compile.RuleName(tt.rule) || diags[0].Severity != tt.severity {
				t.Errorf("got %v", diags)
			}
		})
	}
}

// TestIgnore has what documents with expectations cannot say: their comments
// would be the reasons.
func TestIgnore(t *testing.T) {
	const pool = "pool \"web\" {\n  node_class = node_class.default\n}\n"
	tests := []struct {
		name, document string
		want           []compile.RuleName
	}{
		{"without a comment", pool, []compile.RuleName{"uncapped-plan-size"}},
		{"above the block", "# lkeplan:ignore uncapped-plan-size large pods\n" + pool, nil},
		{"above, with slashes", "// lkeplan:ignore uncapped-plan-size large pods\n" + pool, nil},
		{"above, in a long comment", "/* lkeplan:ignore uncapped-plan-size large pods */\n" + pool, nil},
		{"behind", strings.Replace(pool, "{", "{ # lkeplan:ignore uncapped-plan-size large pods", 1), nil},
		{"without a reason", "# lkeplan:ignore uncapped-plan-size\n" + pool, nil},
		{"without a name", "# lkeplan:ignore\n" + pool, []compile.RuleName{"uncapped-plan-size"}},
		{"a line too far", "# lkeplan:ignore uncapped-plan-size large pods\n\n" + pool,
			[]compile.RuleName{"uncapped-plan-size"}},
		{"above another block", "# lkeplan:ignore uncapped-plan-size large pods\nlocals {}\n\n" + pool,
			[]compile.RuleName{"uncapped-plan-size"}},
		{"another word", "# lkeplan:ignored uncapped-plan-size\n" + pool, []compile.RuleName{"uncapped-plan-size"}},
		{"in a string", "locals {\n  a = \"# lkeplan:ignore nothing\"\n}\n\n" + pool,
			[]compile.RuleName{"uncapped-plan-size"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []compile.RuleName
			for _, d := range lintFiles(fstest.MapFS{"main.lke.hcl": {Data: []byte(cluster + "\n" + tt.document)}}) {
				name, _ := d.Extra.(compile.RuleName)
				got = append(got, name)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
