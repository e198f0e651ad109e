package report

import (
	"flag"
	"html/template"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// update is the one flag of all golden files.
var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// written is a report in one format.
func written(t testing.TB, format string, r Report, o Options) string {
	t.Helper()
	var b strings.Builder
	if o.Target == "" {
		o.Target, o.Version = "clusters/prod", "v1.2.3"
		if len(r.Parts) == 0 {
			o.Apply = []string{"lkeplan", "apply", "clusters/prod"}
		}
	}
	if err := Write(&b, format, r, o); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// golden compares with a file, or with -update rewrites it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

var plans = map[string]Report{
	"rich": rich(), "offline": offline(), "empty": {}, "several": several(),
}

// TestFormats compares each format of each plan with a file.
func TestFormats(t *testing.T) {
	for name, r := range plans {
		for _, format := range Formats() {
			// The style sheet is looked at, not compared.
			policy := strings.ReplaceAll(template.HTMLEscapeString(ContentPolicy()), "+", "&#43;")
			got := strings.NewReplacer(CSS(), "", policy, "").Replace(written(t, format, r, Options{}))
			golden(t, "testdata/"+name+"."+format, got)
		}
	}
	for _, format := range []string{"text", "markdown"} {
		golden(t, "testdata/alike."+format, written(t, format, fleet(40, "x"), Options{}))
	}
	for _, format := range []string{"text", "markdown", "github"} {
		golden(t, "testdata/moved."+format, written(t, format, moved(), Options{}))
	}
	golden(t, "testdata/rich.text-80", written(t, "text", rich(), Options{Width: 80, ASCII: true}))
	golden(t, "testdata/rich.text-color", written(t, "text", rich(), Options{Color: true}))
}

// TestEqualPlansGiveEqualBytes writes each format fifty times.
func TestEqualPlansGiveEqualBytes(t *testing.T) {
	for _, format := range Formats() {
		want := written(t, format, rich(), Options{})
		for range 50 {
			if got := written(t, format, rich(), Options{}); got != want {
				t.Fatalf("%s: (-first +later)\n%s", format, cmp.Diff(want, got))
			}
		}
	}
}

// TestUnknownNumbersOfNodesAreNotZero: no format says the same of nodes that were not counted as
// of none, nor of a guard that was not checked as of one that passes.
func TestUnknownNumbersOfNodesAreNotZero(t *testing.T) {
	counted, checked := offline(), offline()
	counted.Changes = slices.Clone(counted.Changes)
	for i, c := range counted.Changes {
		im := *c.Impact
		im.Known = true
		counted.Changes[i].Impact = &im
	}
	checked.Verdicts = []plan.Verdict{{Guard: "max_rolled_nodes", Status: plan.Passed, Limit: "50%", Source: lineIn("guards.lke.hcl", 2)}}
	for _, format := range Formats() {
		text := written(t, format, offline(), Options{})
		if text == written(t, format, counted, Options{}) {
			t.Errorf("%s says the same of nodes that are not counted and of none", format)
		}
		if text == written(t, format, checked, Options{}) {
			t.Errorf("%s says the same of a guard that is not checked and of one that passes", format)
		}
	}
	outputs := written(t, "github-output", offline(), Options{})
	for _, name := range []string{"nodes_rolled", "nodes_deleted", "nodes_drained", "nodes_removable"} {
		if !strings.Contains(outputs, name+"=\n") {
			t.Errorf("%s is not empty in\n%s", name, outputs)
		}
		if text := written(t, "json", offline(), Options{}); !strings.Contains(text, `"`+name+`": null`) {
			t.Errorf("%s is not null in\n%s", name, text)
		}
	}
}

// TestPartsOfOneClusterCountItsNodesOnce: directories of one cluster read the same nodes.
func TestPartsOfOneClusterCountItsNodesOnce(t *testing.T) {
	part := func(cluster string, nodes int, cost catalog.Money) Report {
		cost *= catalog.Dollar
		return Report{Cluster: cluster, Plan: plan.Plan{Counted: true, Nodes: nodes, Current: &cost}}
	}
	failed := Report{Cluster: "prod", Failed: "1 error", Plan: plan.Plan{Incomplete: true}}
	for name, tt := range map[string]struct {
		parts []Report
		nodes int
		cost  string // "" if it is unknown
	}{
		"one cluster":        {[]Report{part("prod", 2, 100), part("prod", 2, 100)}, 2, "$100"},
		"two clusters":       {[]Report{part("prod", 2, 100), part("dev", 1, 50), part("prod", 2, 100)}, 3, "$150"},
		"unknown clusters":   {[]Report{part("", 2, 100), part("", 2, 100)}, 4, "$200"},
		"a failed directory": {[]Report{failed, part("prod", 2, 100)}, 2, ""},
	} {
		sum, cost := Join(tt.parts, nil), ""
		if sum.Current != nil {
			cost = sum.Current.Text()
		}
		if sum.Nodes != tt.nodes || cost != tt.cost {
			t.Errorf("%s: %d nodes for %q, want %d for %q", name, sum.Nodes, cost, tt.nodes, tt.cost)
		}
	}
}
