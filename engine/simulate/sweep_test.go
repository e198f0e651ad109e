package simulate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// tried is a step that costs so many dollars a month, with refused pods of two workloads.
func tried(class string, placed, dollars, web, db int) simulate.Attempt {
	s := simulate.Attempt{
		Class: class, Nodes: placed, Placed: placed, Refused: web + db,
		Cost: simulate.Cost{Monthly: catalog.Money(dollars) * catalog.Dollar},
	}
	if class != "" {
		s.Pools = []simulate.Capped{{Pool: "a", HCL: "class = \"" + class + "\""}}
	}
	for i, n := range []int{web, db} {
		if n > 0 {
			s.Refusals = append(s.Refusals, simulate.Refusal{Workload: []string{"web", "db"}[i], Pods: n,
				Reasons: []simulate.Reason{{Pool: "a", Text: "it is too large."}}})
		}
	}
	return s
}

// TestSweepComparesCostsOfTheSamePods, and else by what each pod costs that has a node; it is said
// which have none, and why.
func TestSweepComparesCostsOfTheSamePods(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []simulate.Attempt
		want  string
	}{
		{"the same", []simulate.Attempt{tried("dedicated", 10, 100, 0, 0), tried("", 10, 200, 0, 0)}, `dir: 10 pods, simulated once for each class of plan types, with the cheapest maximum of CPUs.

class        nodes  unschedulable  hourly  monthly
dedicated       10              0  $0.000     $100
unchanged       10              0  $0.000     $200

The first costs $100 a month instead of $200. To get it, set in the requirements:
  pool a: class = "dedicated"
`},
		{"more pods", []simulate.Attempt{tried("dedicated", 10, 200, 0, 0), tried("", 4, 100, 6, 0)}, `dir: 10 pods, simulated once for each class of plan types, with the cheapest maximum of CPUs.

class        nodes  unschedulable  hourly  monthly  per placed pod
dedicated       10              0  $0.000     $200             $20
unchanged        4              6  $0.000     $100             $25

Unschedulable (unchanged):
  web: 6 pods
    pool a: it is too large.

The first places 6 pods more, and costs $200 a month instead of $100: $20 for each of its 10 pods instead of $25 for each of 4. To get it, set in the requirements:
  pool a: class = "dedicated"
`},
		{"pods where there were none", []simulate.Attempt{tried("dedicated", 10, 200, 0, 0), tried("", 0, 0, 10, 0)}, `dir: 10 pods, simulated once for each class of plan types, with the cheapest maximum of CPUs.

class        nodes  unschedulable  hourly  monthly  per placed pod
dedicated       10              0  $0.000     $200             $20
unchanged        0             10  $0.000       $0               -

Unschedulable (unchanged):
  web: 10 pods
    pool a: it is too large.

The first places 10 pods more, and costs $200 a month instead of $0: $20 for each of its 10 pods. To get it, set in the requirements:
  pool a: class = "dedicated"
`},
		{"other pods", []simulate.Attempt{tried("dedicated", 8, 100, 0, 2), tried("", 8, 200, 2, 0)}, `dir: 10 pods, simulated once for each class of plan types, with the cheapest maximum of CPUs.

class        nodes  unschedulable  hourly  monthly  per placed pod
dedicated        8              2  $0.000     $100          $12.50
unchanged        8              2  $0.000     $200             $25

Unschedulable (dedicated):
  db: 2 pods
    pool a: it is too large.

Unschedulable (unchanged):
  web: 2 pods
    pool a: it is too large.

The first places other pods, and costs $100 a month instead of $200: $12.50 for each of its 8 pods instead of $25 for each of 8. To get it, set in the requirements:
  pool a: class = "dedicated"
`},
		{"nothing better", []simulate.Attempt{tried("", 8, 200, 0, 2), tried("dedicated", 6, 100, 2, 2)}, `dir: 10 pods, simulated once for each class of plan types, with the cheapest maximum of CPUs.

class        nodes  unschedulable  hourly  monthly  per placed pod
unchanged        8              2  $0.000     $200             $25
dedicated        6              4  $0.000     $100          $16.67

Unschedulable (unchanged):
  db: 2 pods
    pool a: it is too large.

Unschedulable (dedicated):
  web: 2 pods
    pool a: it is too large.
  db: 2 pods
    pool a: it is too large.

No other choice gives as many pods a node for less.
`},
	} {
		if diff := cmp.Diff(tt.want, simulate.SweepText("dir", "class", 10, tt.steps)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// TestSweepLeavesOutCapsThatChangeNothing: the pod gets the same node with each cap from 4 CPUs on.
func TestSweepLeavesOutCapsThatChangeNothing(t *testing.T) {
	in := inputOf(t, txtar.Parse([]byte("-- main.lke.hcl --\ncluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n}\n\n"+
		"node_class \"default\" {}\n\npool \"web\" {\n  node_class   = node_class.default\n"+
		"  requirements = { class = \"standard\", cpu = between(2, 16) }\n}\n-- pods --\n1x3cpu,1Gi\n")))
	steps, err := simulate.Sweep(t.Context(), in, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	var caps []int
	for _, s := range steps {
		caps = append(caps, s.Most)
	}
	if diff := cmp.Diff([]int{0, 2}, caps); diff != "" {
		t.Errorf("caps (-want +got)\n%s", diff)
	}
}
