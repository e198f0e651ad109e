package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestRemovalDrainsAPoolAndCanBeCanceled follows a pool and its class through the plans
// that are made of them: removed, draining, declared again, and deleted at the end.
func TestRemovalDrainsAPoolAndCanBeCanceled(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const class = "node_class \"default\" {}\n"
	declared := compiled(t, class+"pool \"web\" {\n  node_class   = node_class.default\n  requirements = { cpu = 4 }\n}\n")
	removed := compiled(t, "")
	live := asApplied(t, declared)
	hash, err := plan.TemplateHash(live["NodePool"])
	if err != nil {
		t.Fatal(err)
	}
	claim := func(i int) string {
		return fmt.Sprintf(`{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"web-%d",`+
			`"labels":{"karpenter.sh/nodepool":"web","karpenter.k8s.linode/instance-cpu":"4","karpenter.sh/capacity-type":"on-demand"},`+
			`"annotations":{"karpenter.sh/nodepool-hash":%q,"karpenter.sh/nodepool-hash-version":%q}},`+
			`"spec":{"nodeClassRef":{"name":"default"}}}`, i, hash, karpv1.NodePoolHashVersion)
	}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		name      string
		head      string // declared or removed
		nodes     int
		now       bool     // pools go at once
		edited    bool     // its marks have been removed by hand, except for the annotation
		changes   []string // objects, with the action, the stage and the effect
		condemned int      // pools whose removal is applied
		rolling   string   // how far the pool is
		moved     int      // nodes that roll or drain
	}{
		{name: "it would go at once where that is said", head: "removed", nodes: 20, now: true,
			changes: []string{"LinodeNodeClass delete  none", "NodePool delete  delete_nodes"}},
		{name: "its removal starts, and keeps its class", head: "removed", nodes: 20,
			changes: []string{"NodePool delete " + string(plan.StartRemoval) + " roll"}, condemned: 1, moved: 20},
		{name: "it drains", head: "removed", nodes: 12, rolling: "12 of 20"},
		{name: "edited by hand, it drains again", head: "removed", nodes: 12, edited: true, condemned: 1, rolling: "12 of 20"},
		{name: "declared again, it keeps those that are left", head: "declared", nodes: 12,
			changes: []string{"NodePool update " + string(plan.CancelRemoval) + " in_place"}},
		{name: "it is removed again", head: "removed", nodes: 12,
			changes: []string{"NodePool delete " + string(plan.StartRemoval) + " roll"}, condemned: 1, moved: 12},
		{name: "it drains the rest", head: "removed", nodes: 1, rolling: "1 of 12"},
		{name: "it would go at once where that is said now", head: "removed", nodes: 1, now: true, rolling: "1 of 12",
			changes: []string{"LinodeNodeClass delete  none", "NodePool delete  delete_nodes"}},
		{name: "it goes after its last node, and its class with it", head: "removed",
			changes: []string{"LinodeNodeClass delete  none", "NodePool delete drained none"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.edited {
				delete(manifest.Ensure(live["NodePool"], "spec", "limits"), "nodes")
			}
			view := cluster{}
			for kind, obj := range live {
				view[kind] = []string{textOf(t, obj)}
			}
			for i := range step.nodes {
				view["NodeClaim"] = append(view["NodeClaim"], claim(i))
			}
			head := removed
			if step.head == "declared" {
				head = declared
			}
			found, err := Live(t.Context(), head, LiveView(view),
				LiveOptions{Base: head, Prices: prices, Now: at, Prune: true, PruneNow: step.now})
			if err != nil {
				t.Fatal(err)
			}
			if err := found.Judged(); err != nil {
				t.Error(err)
			}
			var changes []string
			for _, c := range found.Plan.Changes {
				changes = append(changes, fmt.Sprintf("%s %s %s %s", c.Kind, c.Action, c.Prune, c.Effect))
			}
			if diff := cmp.Diff(step.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			rolling := ""
			for _, r := range found.Plan.Rolling {
				if r.Condemned != nil {
					rolling = fmt.Sprintf("%d of %d", r.Of, r.Condemned.Nodes)
				}
			}
			s, news := found.Plan.Summary(), 0
			for _, target := range found.Condemned {
				if !target.Unchanged {
					news++
				}
			}
			if rolling != step.rolling || s.Moved().Nodes != step.moved || news != step.condemned {
				t.Errorf("under way: %q, want %q; %d nodes move, want %d; %d pools start to drain, want %d",
					rolling, step.rolling, s.Moved().Nodes, step.moved, news, step.condemned)
			}
			if step.now {
				return // only asked
			}
			for _, target := range slices.Concat(found.Targets, found.Condemned) {
				live[manifest.Kind(target.Desired)] = target.stored
			}
		})
	}
}

// TestACopyIsNotPruned: that an object carries the label says nothing of who applied it.
func TestACopyIsNotPruned(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	head := compiled(t, "")
	class := asApplied(t, compiled(t, "node_class \"default\" {}\n"))["LinodeNodeClass"]
	for manager, stays := range map[string]bool{"lkeplan": false, "kubectl": true} {
		copied := runtime.DeepCopyJSON(class)
		manifest.Map(copied, "metadata")["managedFields"] = []any{map[string]any{"manager": manager, "operation": "Apply",
			"apiVersion": manifest.APIVersion(copied), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}}
		found, err := Live(t.Context(), head, LiveView(cluster{"LinodeNodeClass": {textOf(t, copied)}}),
			LiveOptions{Base: head, Prices: prices, Prune: true})
		if err != nil {
			t.Fatal(err)
		}
		const note = "LinodeNodeClass default has this directory's label lkeplan.dev/part-of, but lkeplan has not applied it; it stays."
		if found.Plan.Empty() != stays || slices.Contains(found.Plan.Notes, note) != stays {
			t.Errorf("applied by %s: %d changes, notes %q", manager, len(found.Plan.Changes), found.Plan.Notes)
		}
	}
}

// TestTakeoverIsSaid: an object that another tool has created with the same values is no change, but an apply makes it one
// that --prune can delete.
func TestTakeoverIsSaid(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const block, imports = "node_class \"default\" {}\n", "import {\n  to = node_class.default\n  id = \"default\"\n}\n"
	const note = "LinodeNodeClass default is in the cluster, and lkeplan has not created it. An apply takes it over, and --prune " +
		"can then delete it. If that is intended, add an import block."
	class := asApplied(t, compiled(t, block))["LinodeNodeClass"]
	for name, tt := range map[string]struct {
		manager, text string
		said          bool
	}{
		"of lkeplan": {"lkeplan", block, false}, "of kubectl": {"kubectl", block, true}, "imported": {"kubectl", block + imports, false},
	} {
		live := runtime.DeepCopyJSON(class)
		metadata := manifest.Map(live, "metadata")
		metadata["managedFields"] = []any{map[string]any{"manager": tt.manager, "operation": "Apply",
			"apiVersion": manifest.APIVersion(live), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}}
		if tt.manager != "lkeplan" {
			delete(metadata, "labels")
			delete(metadata, "annotations")
		}
		head := compiled(t, tt.text)
		found, err := Live(t.Context(), head, LiveView(cluster{"LinodeNodeClass": {textOf(t, live)}}), LiveOptions{Base: head, Prices: prices})
		if err != nil {
			t.Fatal(err)
		}
		if !found.Plan.Empty() || slices.Contains(found.Plan.Notes, note) != tt.said || found.Targets[0].TakesOver() != (tt.manager == "kubectl") {
			t.Errorf("%s: %d changes, notes %q", name, len(found.Plan.Changes), found.Plan.Notes)
		}
	}
}

func textOf(t *testing.T, obj map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestPodsThatFitNoOtherPlaceAreNamed: Karpenter keeps their nodes, and does not report it
// on the pool.
func TestPodsThatFitNoOtherPlaceAreNamed(t *testing.T) {
	pool := func(name string, labels map[string]string, taints ...corev1.Taint) karpv1.NodePool {
		p := karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Labels, p.Spec.Template.Spec.Taints = labels, taints
		p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "default"}
		return p
	}
	gpu := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	old := pool("old", map[string]string{"team": "web"})
	going := pool("going", map[string]string{"team": "web"})
	going.Annotations = map[string]string{schemas.AnnotationRemoval: "2026-11-22T08:00:00Z 3"}
	system := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "system", Labels: map[string]string{"disk": "large"}}}
	asks := func(selector map[string]string) corev1.PodSpec { return corev1.PodSpec{NodeSelector: selector} }
	either := corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{"web"}}}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{"db"}}}},
		}},
	}}}
	renamed := map[string]any{"metadata": map[string]any{"name": "new"}, "spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"team": "web"}},
		"spec": map[string]any{"requirements": []any{}, "nodeClassRef": map[string]any{
			"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"}},
	}}}
	db := pool("db", map[string]string{"team": "db"})
	for _, tt := range []struct {
		name  string
		pod   corev1.PodSpec
		pools []karpv1.NodePool
		held  bool

		created map[string]any // a pool that the change creates
	}{
		{name: "a pool that the change creates", pod: asks(map[string]string{"team": "web"}), pools: []karpv1.NodePool{old}, created: renamed},
		{name: "a pool without the label that the change creates", pod: asks(map[string]string{"team": "db"}), pools: []karpv1.NodePool{old}, held: true, created: renamed},
		{"anywhere", corev1.PodSpec{}, []karpv1.NodePool{old, db}, false, nil},
		{"no other pool", corev1.PodSpec{NodeSelector: map[string]string{"kubernetes.io/arch": "amd64"}}, []karpv1.NodePool{old}, true, nil},
		{"a label that every node can have", asks(map[string]string{"kubernetes.io/arch": "amd64"}), []karpv1.NodePool{old, db}, false, nil},
		{"a label of the old pool", asks(map[string]string{"team": "web"}), []karpv1.NodePool{old, db}, true, nil},
		{"the old pool by name", asks(map[string]string{karpv1.NodePoolLabelKey: "old"}), []karpv1.NodePool{old, db}, true, nil},
		{"another pool that goes", asks(map[string]string{"team": "web"}), []karpv1.NodePool{old, db, going}, true, nil},
		{"a taint", corev1.PodSpec{NodeSelector: map[string]string{"team": "gpu"}},
			[]karpv1.NodePool{old, pool("gpu", map[string]string{"team": "gpu"}, gpu)}, true, nil},
		{"a taint that it tolerates",
			corev1.PodSpec{NodeSelector: map[string]string{"team": "gpu"}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}},
			[]karpv1.NodePool{old, pool("gpu", map[string]string{"team": "gpu"}, gpu)}, false, nil},
		{"one of two labels", either, []karpv1.NodePool{old, db}, false, nil},
		{"a node that no pool has made", asks(map[string]string{"disk": "large"}), []karpv1.NodePool{old}, false, nil},
		{"pools that are not known", asks(map[string]string{"team": "web"}), nil, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			machine := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{
				karpv1.NodePoolLabelKey: "old", "team": "web", "kubernetes.io/arch": "amd64",
			}}}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}, Spec: tt.pod}
			pod.Spec.NodeName = "n1"
			nodes := []plan.Node{{Name: "old-1", Node: "n1", Pool: "old", Condemned: true}}
			in := clusters.Snapshot{Nodes: []*corev1.Node{&machine, &system}, Pods: []*corev1.Pod{&pod}}
			for i := range tt.pools {
				in.Pools = append(in.Pools, &tt.pools[i])
			}
			if tt.pools == nil {
				in.Unlisted = []string{clusters.KindPools}
			}
			var changes []plan.Change
			if tt.created != nil {
				changes = []plan.Change{{Kind: "NodePool", Name: "new", Action: plan.Create, New: tt.created}}
			}
			held, err := Hold(nodes, changes, in, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			names := map[plan.Hold]bool{}
			for _, h := range held[0].Holds {
				names[h] = h.Reason == plan.NoOtherPlace
			}
			maps.DeleteFunc(names, func(_ plan.Hold, no bool) bool { return !no })
			want := map[plan.Hold]bool{}
			if tt.held {
				want[plan.Hold{Reason: plan.NoOtherPlace, Object: "pod shop/cart"}] = true
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("holds (-want +got):\n%s", diff)
			}
		})
	}
}
