package simulate_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var (
	update = flag.Bool("update", false, "rewrite golden files with what comes out")
	repeat = flag.Int("repeat", nightly.Or(2, 40), "how often TestSimulationsAreRepeatable repeats a simulation")
	worlds = flag.Int("worlds", nightly.Or(16, 400), "how many worlds are drawn, or a quarter if one takes long; 400 takes minutes")
)

// TestRun simulates the archives of testdata: a configuration, pods in a few
// characters or as manifests, and the report about them.
func TestRun(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in := inputOf(t, archive)
			result, err := simulate.Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, result)
			got := simulate.NewReport("dir", "", result, nil).Text() + nodesText(result.Nodes)
			if result.Consolidated != nil {
				got += nodesText(result.Consolidated.Nodes)
			}
			for range 19 {
				if again, err := simulate.Run(t.Context(), in); err != nil || cmp.Diff(result, again) != "" {
					t.Fatalf("another time it is another: %v %s", err, cmp.Diff(result, again))
				}
			}
			compare(t, name, archive, got)
		})
	}
}

// TestStockDoesNotChangeASimulation: of the plan types that pods get, none in stock, is the same as all.
func TestStockDoesNotChangeASimulation(t *testing.T) {
	for _, name := range []string{"plain", "spread"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		in := inputOf(t, archive)
		before, err := simulate.Run(t.Context(), in)
		if err != nil || len(before.Nodes) == 0 {
			t.Fatalf("%d nodes, %v", len(before.Nodes), err)
		}
		var out []catalog.Availability
		for _, n := range before.Nodes {
			out = append(out, catalog.Availability{Region: in.Region, Plan: n.Plan})
		}
		facts := in.Catalog
		if in.Catalog, err = catalog.New(facts.Date(), facts.Source(), facts.Plans(), facts.Regions(), out); err != nil {
			t.Fatal(err)
		}
		after, err := simulate.Run(t.Context(), in)
		if d := cmp.Diff(before, after); err != nil || d != "" {
			t.Errorf("%s: %v (-in stock +out of stock)\n%s", name, err, d)
		}
	}
}

// TestAPlanWithoutAPriceIsNotSimulated: no node is created of it at an assumed price, and the pods that wait for it are
// told why.
func TestAPlanWithoutAPriceIsNotSimulated(t *testing.T) {
	for plan, why := range map[string]string{
		"g8-dedicated-32-8":   "does not have the price or the size of g8-dedicated-32-8",
		"g2-gpu-rtx4000a1-xl": "does not have the price or the size of g2-gpu-rtx4000a1-xl",
	} {
		in := inputOf(t, txtar.Parse([]byte("-- main.lke.hcl --\ncluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n"+
			"node_class \"default\" {}\npool \"web\" {\n  node_class   = node_class.default\n"+
			"  requirements = { instance_type = \""+plan+"\" }\n}\n-- pods --\n3x1cpu,1Gi\n")))
		result, err := simulate.Run(t.Context(), in)
		if err != nil || len(result.Nodes) > 0 || result.Refused != 3 {
			t.Fatalf("%s: %d nodes, %d pods refused, %v", plan, len(result.Nodes), result.Refused, err)
		}
		if text := simulate.NewReport("dir", "", result, nil).Text(); !strings.Contains(strings.Join(strings.Fields(text), " "), why) {
			t.Errorf("%s: want %q in\n%s", plan, why, text)
		}
	}
}

// compare compares with the file want of an archive, or rewrites it.
func compare(t *testing.T, name string, archive *txtar.Archive, got string) {
	t.Helper()
	for i, f := range archive.Files {
		if f.Name != "want" {
			continue
		}
		if *update {
			archive.Files[i].Data = []byte(got)
			if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(string(f.Data), got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return
	}
	t.Fatal("there is no file called want")
}

// nodesText lists what is on each node.
func nodesText(nodes []simulate.Node) string {
	var b strings.Builder
	b.WriteString("\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s %s", n.Name, n.Plan)
		for _, s := range n.Pods {
			fmt.Fprintf(&b, ", %d of %s", s.Pods, s.Workload)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// inputOf reads an archive.
func inputOf(t testing.TB, archive *txtar.Archive) simulate.Input {
	t.Helper()
	fsys := fstest.MapFS{}
	var in simulate.Input
	var objects []manifests.Object
	most := false
	for _, f := range archive.Files {
		switch {
		case strings.HasSuffix(f.Name, ".lke.hcl"):
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
		case f.Name == "pods":
			for text := range strings.FieldsSeq(string(f.Data)) {
				load, err := workload.ParsePods(text)
				if err != nil {
					t.Fatal(err)
				}
				in.Workloads = append(in.Workloads, load)
			}
		case strings.HasSuffix(f.Name, ".yaml"):
			found, err := manifests.Read(f.Name, bytes.NewReader(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, found...)
		case f.Name == "lke":
			in.AssumeLKE = true
		case f.Name == "max":
			most = true
		case f.Name == "settle":
			in.Consolidate = &simulate.Consolidation{}
			if _, err := fmt.Sscanf(string(f.Data), "keep %d steps %d", &in.Consolidate.Keep, &in.Consolidate.Steps); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := workload.Read(objects, most)
	if err != nil {
		t.Fatal(err)
	}
	in.Workloads, in.DaemonSets = append(found.Workloads, in.Workloads...), found.DaemonSets
	in.Budgets, in.Templates = found.Budgets, found.Templates
	compileInto(t, &in, fsys)
	return in
}

func compileInto(t testing.TB, in *simulate.Input, fsys fstest.MapFS) {
	t.Helper()
	compiled, diags := compile.Dir(context.Background(), fsys, compile.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var err error
	if in.Catalog, err = catalog.Embedded(); err != nil {
		t.Fatal(err)
	}
	in.Region, in.Tier = compiled.Cluster.Region, catalog.Tier(compiled.Cluster.Tier)
	in.Objects = nil
	for _, o := range compiled.Objects {
		typed, err := cluster.Decode(o.Defaulted)
		if err != nil {
			t.Fatal(err)
		}
		in.Objects = append(in.Objects, typed)
	}
}

// sound holds a result to what must be so of each.
func sound(t *testing.T, r simulate.Result) {
	t.Helper()
	var hourly catalog.Money
	told := strings.Contains(strings.Join(r.Notes, " "), "not all pods of DaemonSets fit")
	for _, n := range r.Nodes {
		hourly += n.Cost.Hourly
		if !told && (n.CPU.Requested > n.CPU.Allocatable || n.Memory.Requested > n.Memory.Allocatable) {
			t.Errorf("%s of %s is fuller than it can be: %+v %+v", n.Name, n.Plan, n.CPU, n.Memory)
		}
	}
	if hourly != r.Total.Hourly {
		t.Errorf("the nodes cost %s an hour, and the total is %s", hourly, r.Total.Hourly)
	}
	if r.Placed+r.Refused != r.Asked {
		t.Errorf("%d placed and %d refused of %d", r.Placed, r.Refused, r.Asked)
	}
	for _, f := range r.Refusals {
		if len(f.Reasons) == 0 {
			t.Errorf("%d of %s are refused for no reason", f.Pods, f.Workload)
		}
		for _, reason := range f.Reasons {
			for _, own := range []string{"karpenter.sh/", "hostname-placeholder", "requirements="} {
				if strings.Contains(reason.Text, own) {
					t.Errorf("a reason has what only Karpenter knows: %s", reason.Text)
				}
			}
		}
	}
}
