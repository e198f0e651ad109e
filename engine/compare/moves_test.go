package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// running is a cluster with the objects of a configuration, and with nodes of the plan type g6-dedicated-4 in each of its
// pools. Each node has 10 pods of 5 Deployments, and a pod of a DaemonSet.
func running(t *testing.T, c compile.Result, prices *catalog.Catalog, nodes int) cluster {
	t.Helper()
	instancetype.Register()
	var plan4 *cloudprovider.InstanceType
	for _, it := range instancetype.New(prices, "us-ord", catalog.Standard).List() {
		if it.Name == "g6-dedicated-4" {
			plan4 = it
		}
	}
	found := cluster{}
	add := func(kind string, object any) {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		found[kind] = append(found[kind], string(text))
	}
	daemon := map[string]any{"containers": []any{map[string]any{"name": "a", "resources": map[string]any{"requests": map[string]any{"cpu": "100m"}}}}}
	add("DaemonSet", map[string]any{"metadata": map[string]any{"namespace": "kube-system", "name": "agent"}, "spec": map[string]any{
		"template": map[string]any{"spec": daemon}}})
	add("PodDisruptionBudget", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "app0"}, "spec": map[string]any{
		"maxUnavailable": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": "app0"}}}})
	for _, o := range c.Objects {
		obj := o.Defaulted // as the API server stores it
		add(manifest.Kind(obj), obj)
		if manifest.Kind(obj) != "NodePool" {
			continue
		}
		typed, err := manifest.As[karpv1.NodePool](obj)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{}
		for key, r := range plan4.Requirements {
			if r.Len() == 1 {
				labels[key] = r.Any()
			}
		}
		maps.Copy(labels, typed.Spec.Template.Labels)
		maps.Copy(labels, map[string]string{karpv1.NodePoolLabelKey: typed.Name, karpv1.CapacityTypeLabelKey: "on-demand",
			corev1.LabelTopologyZone: "us-ord", corev1.LabelTopologyRegion: "us-ord"})
		for i := range nodes {
			name, node := fmt.Sprintf("%s-%d", typed.Name, i), fmt.Sprintf("lke1-%s-%d", typed.Name, i)
			nc := karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels,
				CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)),
				Annotations:       map[string]string{karpv1.NodePoolHashAnnotationKey: typed.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion}}}
			nc.Spec.NodeClassRef, nc.Spec.Taints = typed.Spec.Template.Spec.NodeClassRef, typed.Spec.Template.Spec.Taints
			nc.Status = karpv1.NodeClaimStatus{NodeName: node, ProviderID: fmt.Sprintf("linode://%d", 100+i), Capacity: plan4.Capacity, Allocatable: plan4.Allocatable()}
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
			add("NodeClaim", nc)
			is := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: maps.Clone(labels)}, Spec: corev1.NodeSpec{
				ProviderID: nc.Status.ProviderID, Taints: nc.Spec.Taints}, Status: corev1.NodeStatus{Capacity: plan4.Capacity, Allocatable: plan4.Allocatable()}}
			is.Labels[karpv1.NodeRegisteredLabelKey], is.Labels[karpv1.NodeInitializedLabelKey], is.Labels[corev1.LabelHostname] = "true", "true", node
			is.Labels["example.com/rack"] = fmt.Sprint("rack", i%2)
			add("Node", is)
			pod := func(kind, owner string, n int, spec map[string]any) {
				spec = maps.Clone(spec)
				spec["nodeName"] = node
				add("Pod", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("%s-%s-%d", owner, node, n),
					"uid": fmt.Sprintf("%s-%s-%d", owner, node, n), "labels": map[string]any{"app": owner},
					"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": true}}},
					"spec": spec, "status": map[string]any{"phase": "Running"}})
			}
			pod("DaemonSet", "agent", 0, daemon)
			for n := range 10 {
				spec := map[string]any{"containers": []any{map[string]any{"name": "a", "image": "registry.example.com/some/image:v1",
					"resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprintf("%dm", 200+n%5*40), "memory": "200Mi"}}}}}
				if n%5 == 1 && i%2 == 0 {
					spec["nodeSelector"] = map[string]any{"example.com/rack": "rack0"}
				}
				pod("ReplicaSet", fmt.Sprint("app", n%5), n, spec)
			}
		}
	}
	return found
}

// TestSnapshotGivesTheMovesOfItsCluster: what a pull request reads of a snapshot is what an apply reads of the cluster.
func TestSnapshotGivesTheMovesOfItsCluster(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const web = "node_class \"default\" {}\npool \"web\" {\n  node_class = node_class.default\n  requirements = { class = \"dedicated\", cpu = 4 }\n}\n"
	const cheap = "pool \"cheap\" {\n  node_class = node_class.default\n  requirements = { class = \"standard\", cpu = between(1, 8) }\n  weight = 50\n}\n"
	const buffer = "buffer \"spare\" {\n  namespace = \"shop\"\n  pod_template = \"spare\"\n  replicas = 1\n}\n"
	now := time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		base, head string
		pending    bool // the last node has not joined
	}{
		"a cheaper pool":                 {web, web + cheap, false},
		"a buffer that goes":             {web + buffer, web, false},
		"a node that has not joined yet": {web, web + cheap, true},
	} {
		base, head := compiledWhole(t, cluster5+tt.base), compiledWhole(t, cluster5+tt.head)
		live := running(t, base, prices, 4)
		if strings.Contains(tt.base, buffer) { // it has the last node
			live["Pod"] = slices.DeleteFunc(live["Pod"], func(pod string) bool {
				return strings.Contains(pod, `"nodeName":"lke1-web-3"`) && strings.Contains(pod, "ReplicaSet")
			})
			live["PodTemplate"] = []string{`{"metadata": {"namespace": "shop", "name": "spare"}, "template": {"spec": {"containers": [
				{"name": "a", "resources": {"requests": {"cpu": "3"}}}]}}}`}
		}
		if tt.pending {
			live["NodeClaim"][3] = strings.Replace(live["NodeClaim"][3], `"nodeName":"lke1-web-3",`, "", 1)
			live["Node"] = live["Node"][:3]
			live["Pod"] = slices.DeleteFunc(live["Pod"], func(pod string) bool {
				return strings.Contains(pod, `"nodeName":"lke1-web-3"`) && strings.Contains(pod, "DaemonSet")
			})
			for i := range live["Pod"] {
				live["Pod"][i] = strings.Replace(live["Pod"][i], `"nodeName":"lke1-web-3",`, "", 1)
			}
		}
		movesIn := func(view View) (moves []plan.Move) {
			t.Helper()
			p, err := RevisionsOn(t.Context(), base, head, view, prices, now)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Notes) > 0 {
				t.Errorf("notes: %q", p.Notes)
			}
			for _, c := range p.Changes {
				if c.Impact != nil {
					moves = append(moves, c.Impact.Moves...)
				}
			}
			return moves
		}
		want := movesIn(LiveView(live))
		if len(want) == 0 {
			t.Fatalf("%s: nothing moves", name)
		}
		if diff := cmp.Diff(want, movesIn(snapshotOf(t, live, now).View())); diff != "" {
			t.Errorf("%s: moves in the cluster and in its snapshot (-cluster +snapshot):\n%s", name, diff)
		}
	}
}

// snapshotOf is the snapshot of a cluster, as it is read from its file.
func snapshotOf(t *testing.T, c cluster, now time.Time) Snapshot {
	t.Helper()
	taken, err := TakeSnapshot(t.Context(), LiveView(c), now, false)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := taken.Write(&file); err != nil {
		t.Fatal(err)
	}
	t.Logf("the snapshot of %d nodes with %d pods has %d KiB", len(c["Node"]), len(c["Pod"]), file.Len()>>10)
	read, err := ReadSnapshot(&file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestLargeClustersAreNotSimulated: their moves are unknown.
func TestLargeClustersAreNotSimulated(t *testing.T) {
	for size, want := range map[[2]int]string{
		{mostPods, mostNodes}: "",
		{mostPods + 1, 1}:     "the cluster has 10001 pods on 1 nodes, and at most 10000 pods on 1000 nodes are simulated",
		{1, mostNodes + 1}:    "the cluster has 1 pods on 1001 nodes, and at most 10000 pods on 1000 nodes are simulated",
	} {
		if got := tooLarge(size[0], size[1]); got != want {
			t.Errorf("%v: %q", size, got)
		}
	}
}

// TestSimulationWaitsForItsTurn: a comparison reads no pods before, gives its turn back, and ends with its context.
func TestSimulationWaitsForItsTurn(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const web = "node_class \"default\" {}\npool \"web\" {\n  node_class = node_class.default\n  requirements = { class = \"dedicated\", cpu = 4 }\n}\n"
	base := compiledWhole(t, cluster5+web)
	head := compiledWhole(t, cluster5+strings.Replace(web, "cpu = 4", "cpu = between(1, 4)", 1))
	view := &countedWhole{View: LiveView(running(t, base, prices, 2))}
	taken, given := 0, 0
	opts := LiveOptions{Base: base, Prices: prices, Now: time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC), Turn: func(ctx context.Context) (func(), error) {
		if taken++; view.read > 0 {
			t.Error("pods are read before it is the turn of the simulation")
		}
		return func() { given++ }, ctx.Err()
	}}
	if _, err := Live(t.Context(), head, view, opts); err != nil || taken != 1 || given != 1 || view.read != 1 {
		t.Errorf("%d turns were taken and %d given back, and pods were read %d times: %v", taken, given, view.read, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	opts.Turn = func(ctx context.Context) (func(), error) { return nil, ctx.Err() }
	if _, err := Live(ended, head, view, opts); !errors.Is(err, context.Canceled) || view.read != 1 {
		t.Errorf("without a turn, pods were read %d times: %v", view.read, err)
	}
}

// countedWhole counts how often all objects of a simulation are read.
type countedWhole struct {
	View
	read int
}

func (c *countedWhole) Whole(ctx context.Context, buffers []client.Object) (Whole, error) {
	c.read++
	return c.View.Whole(ctx, buffers)
}

// TestUnknownMovesAreRefused: by a guard of 0, for each reason why they are unknown.
func TestUnknownMovesAreRefused(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const web = "node_class \"default\" {}\npool \"web\" {\n  node_class = node_class.default\n  requirements = { class = \"dedicated\", cpu = 4 }\n}\n"
	const cheap = "pool \"cheap\" {\n  node_class = node_class.default\n  requirements = { class = \"standard\", cpu = between(1, 8) }\n  weight = 50\n}\n"
	base, head := compiledWhole(t, cluster5+web), compiledWhole(t, cluster5+web+cheap)
	claims := running(t, base, prices, 2)
	claims["Pod"] = append(claims["Pod"], `{"metadata": {"namespace": "shop", "name": "db", "uid": "db"}, "status": {"phase": "Running"}, "spec": {"nodeName": "lke1-web-0",
		"containers": [{"name": "a"}], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}`)
	pending := running(t, base, prices, 2)
	pending["NodeClaim"][1] = strings.NewReplacer(`"nodeName":"lke1-web-1",`, "", `"providerID":"linode://101",`, "").Replace(pending["NodeClaim"][1])
	pending["Node"] = pending["Node"][:1]
	for want, view := range map[string]View{
		"NodeClaim web-1 has no machine yet":      LiveView(pending),
		"--no-consolidation leaves it out":        WithoutConsolidation(LiveView(running(t, base, prices, 2))),
		"PersistentVolumeClaims cannot be listed": LiveView(forbidding{claims, []string{"PersistentVolumeClaim"}}),
		"this user may not list NodeOverlay":      LiveView(forbidding{claims, []string{"NodeOverlay"}}),
		"PodDisruptionBudgets cannot be listed":   LiveView(forbidding{claims, []string{"PodDisruptionBudget"}}),
	} {
		p, err := RevisionsOn(t.Context(), base, head, view, prices, time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %s", want, notes)
		}
		verdicts, err := p.Judge(plan.Bounds{Guards: config.Guards{MaxRolledNodes: config.Share{Text: "0"}}, Before: 2, After: 3})
		if err != nil || !slices.ContainsFunc(verdicts, func(v plan.Verdict) bool { return v.Guard == plan.MaxRolledNodes && v.Status == plan.Blocked }) {
			t.Errorf("%s: a guard of 0 does not refuse it: %+v, %v", want, verdicts, err)
		}
	}
}

// TestPinnedPricesDoNotHideMoves: Karpenter moves nodes by the prices of Linode, not by those that a repository pins.
func TestPinnedPricesDoNotHideMoves(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	plans := prices.Plans()
	for i := range plans {
		if plans[i].Class == "standard" {
			plans[i].Price.Hourly, plans[i].Price.Monthly = 10*plans[i].Price.Hourly, 10*plans[i].Price.Monthly
			plans[i].RegionPrices = nil
		}
	}
	pinned, err := catalog.New(prices.Date(), "a repository", plans, prices.Regions(), prices.Availability())
	if err != nil {
		t.Fatal(err)
	}
	const web = "node_class \"default\" {}\npool \"web\" {\n  node_class = node_class.default\n  requirements = { class = \"dedicated\", cpu = 4 }\n}\n"
	const cheap = "pool \"cheap\" {\n  node_class = node_class.default\n  requirements = { class = \"standard\", cpu = between(1, 8) }\n  weight = 50\n}\n"
	base, head := compiledWhole(t, cluster5+web), compiledWhole(t, cluster5+web+cheap)
	live := running(t, base, prices, 4)
	for _, tt := range []struct {
		name   string
		market *catalog.Catalog
		pins   bool // the change pins them
		moves  bool
	}{{"the prices of Linode", prices, true, true}, {"no other prices", nil, false, false}, {"the prices of the change", nil, true, false}} {
		head := head
		if tt.pins {
			head.Catalog = pinned
		}
		found, err := Live(t.Context(), head, LiveView(live), LiveOptions{Base: base, Prices: pinned, Market: tt.market,
			Now: time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		moves := 0
		for _, c := range found.Plan.Changes {
			if c.Impact != nil {
				moves += len(c.Impact.Moves)
			}
		}
		unknown := strings.Contains(strings.Join(found.Plan.Notes, "\n"), "the change alters the price catalogue")
		if (moves > 0) != tt.moves || unknown != (tt.pins && tt.market == nil) {
			t.Errorf("%s: %d nodes move; unknown: %t", tt.name, moves, unknown)
		}
	}
}
