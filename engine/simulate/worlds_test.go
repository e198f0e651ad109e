package simulate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestRunConservesPods simulates pods and pools that are drawn: limits hold, no
// node is overfull, each pod is somewhere, and a second time all is the same.
func TestRunConservesPods(t *testing.T) {
	for seed := range uint64(*worlds) {
		w := draw(t, seed)
		w.in.CostBy = &costs.By{Label: "app"}
		r, err := simulate.Run(t.Context(), w.in)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sound(t, r)
		used := map[string]int64{}
		for _, n := range r.Nodes {
			plan, _ := w.in.Catalog.Plan(n.Plan)
			used[n.Pool] += int64(plan.VCPUs)
			if attached := w.attached(n); attached > plan.Volumes() {
				t.Errorf("node %s of %s has %d volumes, and can attach %d", n.Name, n.Plan, attached, plan.Volumes())
			}
		}
		for pool, most := range w.limits {
			if used[pool] > most {
				t.Errorf("pool %s has %d CPUs, and its limit is %d", pool, used[pool], most)
			}
		}
		var paid catalog.Money
		for _, share := range r.Costs.Shares {
			paid += share.Monthly
		}
		if cent := catalog.Dollar / 100; (r.Total.Monthly+cent/2)/cent*cent != paid {
			t.Errorf("the shares add up to %s, and the nodes cost %s", paid, r.Total.Monthly)
		}
		if r.Asked != w.asked {
			t.Errorf("%d pods were asked for, and %d are accounted for", w.asked, r.Asked)
		}
		again, err := simulate.Run(t.Context(), w.in)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("another time it is another: %v %s", err, diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, w.text)
		}
	}
}

// TestConsolidationConservesPods has Karpenter consolidate worlds that are drawn, after
// some of the pods have left: it never costs more, limits hold, no node is overfull, the
// pods that stay are somewhere, and each node that stays does so for a reason.
func TestConsolidationConservesPods(t *testing.T) {
	steps := 0
	defer func() {
		if steps < *worlds/8 {
			t.Errorf("%d steps are too few to tell anything", steps)
		}
	}()
	for seed := range uint64(*worlds / 4) {
		w := draw(t, seed)
		w.in.Consolidate = &simulate.Consolidation{Keep: int(20 + seed*17%80)}
		r, err := simulate.Run(t.Context(), w.in)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.text)
		}
		s := r.Consolidated
		steps += len(s.Steps)
		sound(t, simulate.Result{Asked: r.Asked - s.Left, Placed: s.Placed, Total: s.Total, Nodes: s.Nodes,
			Refused: s.Refused, Notes: append(r.Notes[:len(r.Notes):len(r.Notes)], s.Notes...)})
		most := r.Total.Hourly
		for _, step := range s.Steps {
			if most -= step.Saved.Hourly; step.Saved.Hourly <= 0 {
				t.Errorf("a step saves nothing: %s", step)
			}
		}
		if s.Total.Hourly < most || !s.Ended { // pods that waited may have got nodes
			t.Errorf("it costs %s an hour after steps to %s", s.Total.Hourly, most)
		}
		told := 0
		for _, held := range s.Held {
			told += len(held.Nodes)
			if held.Text == "" || strings.Contains(held.Text, "does not say why") || strings.Contains(held.Text, "pod-0") {
				t.Errorf("%d nodes stay for %q", len(held.Nodes), held.Text)
			}
		}
		used := map[string]int64{}
		for _, n := range s.Nodes {
			plan, _ := w.in.Catalog.Plan(n.Plan)
			used[n.Pool] += int64(plan.VCPUs)
			if attached := w.attached(n); attached > plan.Volumes() {
				t.Errorf("node %s of %s has %d volumes, and can attach %d", n.Name, n.Plan, attached, plan.Volumes())
			}
		}
		for pool, most := range w.limits {
			if used[pool] > most {
				t.Errorf("pool %s has %d CPUs, and its limit is %d", pool, used[pool], most)
			}
		}
		again, err := simulate.Run(t.Context(), w.in)
		if diff := cmp.Diff(r, again); err != nil || diff != "" || told != len(s.Nodes) {
			t.Errorf("of %d nodes %d are reported; another time: %v %s", len(s.Nodes), told, err, diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, w.text)
		}
	}
}

// TestSimulationsAreRepeatable: the examples with pods, and worlds that are drawn, with consolidation and what a change moves,
// give the same bytes each time.
func TestSimulationsAreRepeatable(t *testing.T) {
	same := func(name string, simulated func() (any, error)) {
		var first []byte
		for i := range *repeat {
			result, err := simulated()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = text
			} else if diff := cmp.Diff(string(first), string(text)); diff != "" {
				t.Fatalf("%s: another time it is another (-first +%d) %s", name, i+1, diff)
			}
		}
	}
	pods, err := filepath.Glob("../../examples/*/pods.yaml")
	if err != nil || len(pods) < 5 {
		t.Fatal("no examples", err)
	}
	for _, file := range append(pods, "../../examples/simulate/shop.yaml", "../../examples/cost-caps/jobs.yaml") {
		archive := &txtar.Archive{}
		blocks, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.lke.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(blocks, file) {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archive.Files = append(archive.Files, txtar.File{Name: filepath.Base(name), Data: raw})
		}
		if len(blocks) == 0 {
			continue
		}
		in := inputOf(t, archive)
		in.Consolidate = &simulate.Consolidation{Keep: 50}
		same(file, func() (any, error) { return simulate.Run(t.Context(), in) })
	}
	for seed := range uint64(min(*worlds/8, 20)) {
		w, after := draw(t, seed), draw(t, seed+100_000)
		live, err := simulate.ConsolidatedCluster(t.Context(), w.in)
		if err != nil {
			t.Fatal(err)
		}
		same(fmt.Sprintf("seed %d\n%s\n%s", seed, w.text, after.text), func() (any, error) {
			return simulate.Moves(t.Context(), live, friday, w.in.Objects, after.in.Objects)
		})
	}
}

// TestPackingMatchesScheduler holds pack to Karpenter's scheduler: the same nodes,
// with the same pods on them, and the same reasons.
func TestPackingMatchesScheduler(t *testing.T) {
	for seed := range uint64(*worlds) {
		w := draw(t, seed)
		want, err := simulate.RunFrom(t.Context(), w.in, math.MaxInt)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := simulate.RunFrom(t.Context(), w.in, 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("seed %d: %v (-Karpenter +packing) %s\n%s", seed, err, diff, w.text)
		}
	}
}

// TestMemoryOfStepsIsExact: what is remembered from one step of Karpenter to the next gives the same steps and the same
// reasons as looking at each node with each plan type again.
func TestMemoryOfStepsIsExact(t *testing.T) {
	steps := 0
	for seed := range uint64(*worlds / 4) {
		seed += 60 // in 63, a step gives another node a cheaper place
		base, head := draw(t, seed), draw(t, seed+100_000)
		head.in.Pods = base.in.Pods
		base.in.Consolidate, head.in.Consolidate = &simulate.Consolidation{Keep: int(20 + seed*17%80)}, &simulate.Consolidation{}
		want, err := simulate.Change(t.Context(), base.in.Anew(), head.in.Anew())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := simulate.Change(t.Context(), base.in, head.in)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("seed %d: %v (-anew +remembered) %s\n%s\n%s", seed, err, diff, base.text, head.text)
		}
		steps += len(got.Steps)
	}
	if steps < *worlds/8 {
		t.Errorf("%d steps are too few to compare", steps)
	}
}

// drawn is a configuration with pods.
type drawn struct {
	text   string
	in     simulate.Input
	limits map[string]int64 // of CPUs
	asked  int
}

// draw draws a world.
func draw(t *testing.T, seed uint64) drawn {
	t.Helper()
	d := rand.New(rand.NewPCG(seed, 1))
	w := drawn{limits: map[string]int64{}, text: `cluster {
  name   = "random"
  region = "us-ord"
}

node_class "default" {}
`}
	for i := range 1 + d.IntN(3) {
		w.pool(d, fmt.Sprintf("p%d", i))
	}
	if d.IntN(3) == 0 {
		w.text += fmt.Sprintf("\nlimits \"all\" {\n  nodes = %d\n}\n", 1+d.IntN(9))
	}
	for i := range 1 + d.IntN(5) {
		w.load(t, d, fmt.Sprintf("app%d", i))
	}
	for i := range d.IntN(3) {
		w.in.DaemonSets = append(w.in.DaemonSets, daemons(d, fmt.Sprintf("set%d", i)))
	}
	for i := range max(0, d.IntN(7)-4) {
		w.buffer(d, fmt.Sprintf("spare%d", i))
	}
	compileInto(t, &w.in, fstest.MapFS{"main.lke.hcl": {Data: []byte(w.text)}})
	return w
}

func (w *drawn) pool(d *rand.Rand, name string) {
	cpus := 2 << d.IntN(5)
	w.text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n", name)
	class := []string{"standard", "dedicated"}[d.IntN(2)]
	w.text += fmt.Sprintf("  requirements = { class = %q, cpu = between(1, %d) }\n", class, cpus)
	switch d.IntN(4) {
	case 0:
		w.text += fmt.Sprintf("  replicas = %d\n}\n", d.IntN(4))
		return
	case 1, 2:
		w.limits[name] = int64(4 + d.IntN(100))
		w.text += fmt.Sprintf("  limits = { cpu = %d }\n", w.limits[name])
	}
	w.text += fmt.Sprintf("  weight = %d\n  labels = { team = %q }\n", 1+d.IntN(3), []string{"red", "blue"}[d.IntN(2)])
	if d.IntN(4) == 0 {
		w.text += fmt.Sprintf("  taints = [\"team=red:%s\"]\n", []string{"NoSchedule", "PreferNoSchedule"}[d.IntN(2)])
	}
	w.text += "}\n"
}

// load draws pods that are alike.
func (w *drawn) load(t *testing.T, d *rand.Rand, app string) {
	load, err := workload.ParsePods(fmt.Sprintf("%dx%dmcpu,%dMi", 1+d.IntN(60), 50*(1+d.IntN(50)), 128*(1+d.IntN(30))))
	if err != nil {
		t.Fatal(err)
	}
	load.Name = app
	spec := &load.Pod.Spec
	load.Pod.Labels = map[string]string{"app": app}
	alike := &metav1.LabelSelector{MatchLabels: load.Pod.Labels}
	switch d.IntN(11) {
	case 0:
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: int32(1 + d.IntN(2)),
			TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: alike}}
	case 1:
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1,
			TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: alike}}
	case 2:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: alike}}}}
	case 3:
		spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: alike}}}}
	case 4:
		spec.NodeSelector = map[string]string{"team": []string{"red", "green"}[d.IntN(2)]}
	case 5:
		spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	case 6:
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
				Preference: selects("team", "red")}}}}
	case 8, 9: // from others, whose pods may come before and after
		other := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app%d", d.IntN(4))}}
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: other,
				TopologyKey: []string{corev1.LabelHostname, corev1.LabelInstanceTypeStable}[d.IntN(2)]}}}}
	case 7:
		spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 8080, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	}
	if load.Pods%3 == 0 {
		load.Volumes.Own = load.Pods % 4
	}
	if load.Pods%5 == 0 {
		load.Volumes.Shared = []string{app}
	}
	w.asked += load.Pods
	w.in.Workloads = append(w.in.Workloads, load)
}

// buffer draws a CapacityBuffer for pods like those of a workload.
func (w *drawn) buffer(d *rand.Rand, name string) {
	load, replicas := w.in.Workloads[d.IntN(len(w.in.Workloads))], d.IntN(12)
	w.in.Templates = append(w.in.Templates, simulate.Template{Key: manifest.Key{Kind: "PodTemplate", Namespace: "default", Name: name},
		Pods: corev1.PodTemplateSpec{ObjectMeta: load.Pod.ObjectMeta, Spec: load.Pod.Spec}})
	w.text += fmt.Sprintf("\nbuffer %q {\n  namespace    = \"default\"\n  pod_template = %[1]q\n  replicas     = %d\n}\n", name, replicas)
	w.asked += replicas
}

// attached counts the volumes of a node.
func (w drawn) attached(n simulate.Node) (volumes int) {
	for _, share := range n.Pods {
		for _, load := range w.in.Workloads {
			if load.Name == share.Workload {
				volumes += share.Pods*load.Volumes.Own + len(load.Volumes.Shared)
			}
		}
	}
	return volumes
}

func selects(label string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: label, Operator: corev1.NodeSelectorOpIn, Values: values,
	}}}
}

// daemons draws a DaemonSet.
func daemons(d *rand.Rand, name string) *appsv1.DaemonSet {
	load, err := workload.ParsePods(fmt.Sprintf("1x%dmcpu,%dMi", 10*(1+d.IntN(40)), 32*(1+d.IntN(10))))
	if err != nil {
		panic(err)
	}
	set := &appsv1.DaemonSet{}
	set.Namespace, set.Name = "kube-system", name
	set.Spec.Template.Spec = load.Pod.Spec
	switch d.IntN(3) {
	case 0:
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 1:
		set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				selects(corev1.LabelInstanceTypeStable, strings.Fields("g6-standard-2 g6-standard-4 g6-dedicated-8")...),
				selects("team", "blue"),
			}}}}
	}
	return set
}
