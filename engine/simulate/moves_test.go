package simulate_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

var friday = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// directory is a configuration whose pools are given.
func directory(pools string) string {
	return "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"d\" {}\n" + pools
}

// pool is a block, with further arguments.
func pool(name, requirements string, more ...string) string {
	return fmt.Sprintf("pool %q {\n  node_class = node_class.d\n  requirements = { %s }\n  %s\n}\n", name, requirements, strings.Join(more, "\n  "))
}

// objectsOf are the objects of a configuration.
func objectsOf(t *testing.T, text string) []map[string]any {
	t.Helper()
	var in simulate.Input
	compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(text)}})
	return in.Objects
}

// TestMoves: what can make Karpenter remove or replace nodes that match their pools, and what cannot.
func TestMoves(t *testing.T) {
	const budget = "disruption {\n    %s\n    budget {\n      nodes = \"%s\"\n    }\n  }"
	web := pool("web", `class = "dedicated", cpu = between(4, 8)`)
	never := pool("web", `class = "dedicated", cpu = between(4, 8)`, `disruption { consolidate_after = "Never" }`)
	empty := pool("web", `class = "dedicated", cpu = between(4, 8)`, "disruption {\n    policy = \"WhenEmpty\"\n    consolidate_after = \"30s\"\n  }")
	shut := pool("web", `class = "dedicated", cpu = between(4, 8)`, fmt.Sprintf(budget, `consolidate_after = "30s"`, "0"))
	cheap := func(more ...string) string { return pool("cheap", `class = "standard", cpu = between(1, 8)`, more...) }
	for _, tt := range []struct {
		name          string
		pods          string
		before, after string
		want          []string
		start         string // the pools that the pods got their nodes from; "" for those before
	}{
		{"nothing", "4x1cpu,2Gi", web, web, nil, ""},
		{"a new pool that is cheaper and tried first", "2x1cpu,2Gi", web, web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a new pool that is tried last", "2x1cpu,2Gi", pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60"),
			pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap("weight = 50"), nil, ""},
		{"a new pool whose taints the pods do not tolerate", "2x1cpu,2Gi", web,
			web + cheap("weight = 50", `taints = ["a=b:NoSchedule"]`), nil, ""},
		{"taints that go", "2x1cpu,2Gi", web + cheap("weight = 50", `taints = ["a=b:NoSchedule"]`), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a larger weight", "2x1cpu,2Gi", pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap(),
			pool("web", `class = "dedicated", cpu = between(4, 8)`, "weight = 60") + cheap("weight = 70"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"wider requirements that are cheaper", "1x1cpu,2Gi", web, pool("web", `class = "dedicated", cpu = between(2, 8)`),
			[]string{"web g6-dedicated-4 -> g6-dedicated-2, saves $36"}, ""},
		{"wider requirements that are not", "2x1cpu,2Gi", web, pool("web", `class = "dedicated", cpu = between(4, 16)`), nil, ""},
		{"wider requirements of another pool", "2x1cpu,2Gi", web + pool("other", `class = "standard", cpu = between(16, 20)`, "weight = 50"),
			web + pool("other", `class = "standard", cpu = between(1, 20)`, "weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a larger limit of the pool that is tried first", "2x1cpu,2Gi", web + cheap("weight = 50", "limits = { cpu = 1 }"),
			web + cheap("weight = 50", "limits = { cpu = 100 }"), []string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, ""},
		{"a pool with replicas that has room", "2x1cpu,2Gi", web, web + pool("fixed", `class = "standard", cpu = between(6, 8)`, "replicas = 1"),
			[]string{"web g6-dedicated-4 -> , saves $72"}, ""},
		{"a pool that consolidates nothing", "2x1cpu,2Gi", never, never + cheap("weight = 50"), nil, ""},
		{"consolidation that begins", "2x1cpu,2Gi", never + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a policy that allows more", "2x1cpu,2Gi", empty + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a budget that opens", "2x1cpu,2Gi", shut + cheap("weight = 50"), web + cheap("weight = 50"),
			[]string{"web g6-dedicated-4 -> g6-standard-4, saves $24"}, web},
		{"a budget of zero", "2x1cpu,2Gi", shut, shut + cheap("weight = 50"), nil, ""},
		{"a node that goes without the change", "2x1cpu,2Gi", web + cheap("weight = 50"),
			web + cheap("weight = 50") + pool("more", `class = "standard", cpu = 2`, `taints = ["a=b:NoSchedule"]`), nil, web},
		{"a pool that is deleted makes no other move", "2x1cpu,2Gi", web + cheap(`taints = ["a=b:NoSchedule"]`), web, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in simulate.Input
			compileInto(t, &in, fstest.MapFS{"main.lke.hcl": {Data: []byte(directory(cmp.Or(tt.start, tt.before)))}})
			for text := range strings.FieldsSeq(tt.pods) {
				load, err := workload.ParsePods(text)
				if err != nil {
					t.Fatal(err)
				}
				in.Workloads = append(in.Workloads, load)
			}
			live, err := simulate.ConsolidatedCluster(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			moved, err := simulate.Moves(t.Context(), live, friday, objectsOf(t, directory(tt.before)), objectsOf(t, directory(tt.after)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range moved {
				var to []string
				for _, n := range m.To {
					to = append(to, n.Plan)
				}
				got = append(got, fmt.Sprintf("%s %s -> %s, saves $%s", m.Pool, m.Plan, strings.Join(to, " "), m.Saves.Monthly))
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNoChangeMovesNothing: in worlds that are drawn.
func TestNoChangeMovesNothing(t *testing.T) {
	for seed := range uint64(*worlds) {
		w := draw(t, seed)
		w.in.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &intstr.IntOrString{IntVal: int32(seed % 3)},
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "app0"}}}}}
		live, err := simulate.ConsolidatedCluster(t.Context(), w.in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.text)
		}
		moved, err := simulate.Moves(t.Context(), live, friday, w.in.Objects, w.in.Objects)
		if err != nil || len(moved) > 0 {
			t.Fatalf("seed %d: %v\n%+v\n%s", seed, err, moved, w.text)
		}
	}
}
