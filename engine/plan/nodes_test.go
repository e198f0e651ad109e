package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// poolOf is a pool with one requirement and budgets.
func poolOf(cpu string, expiry string, budgets ...any) config.Object {
	spec := map[string]any{
		"requirements": []any{map[string]any{"key": "karpenter.k8s.linode/instance-cpu", "operator": "In",
			"values": []any{cpu}}},
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
		"expireAfter":  expiry,
	}
	manifest := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": spec},
			"disruption": map[string]any{"consolidateAfter": "0s", "budgets": budgets}},
	}
	return config.Object{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: manifest, Defaulted: manifest}
}

// friday is a Friday morning.
var friday = time.Date(2026, time.November, 20, 7, 0, 0, 0, time.UTC)

// nodesOf are nodes that were made by a pool, with n CPUs each.
func nodesOf(t *testing.T, o config.Object, cpus ...string) []Node {
	t.Helper()
	hash, err := TemplateHash(o.Defaulted)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []Node
	for _, cpu := range cpus {
		nodes = append(nodes, Node{
			Pool: "web", Initialized: true, Labels: map[string]string{"karpenter.k8s.linode/instance-cpu": cpu},
			Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: hash,
				karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion},
		})
	}
	return nodes
}

func TestImpact(t *testing.T) {
	budget := func(nodes string, more ...any) any {
		b := map[string]any{"nodes": nodes}
		for i := 0; i < len(more); i += 2 {
			b[more[i].(string)] = more[i+1]
		}
		return b
	}
	tenth := budget("10%")
	four := []string{"4", "4", "4", "4"}
	tests := []struct {
		name         string
		before, head config.Object
		cpus         []string
		want         Impact // and of its pace, how many at a time
	}{
		{"the template changes", poolOf("4", "720h", tenth), poolOf("4", "24h", tenth), four,
			Impact{Of: 4, Rolled: 4, Pace: &Pace{Wave: 1}}},
		{"no nodes", poolOf("4", "720h", tenth), poolOf("4", "24h", tenth), nil, Impact{}},
		{"nothing that reaches nodes", poolOf("4", "720h", tenth), poolOf("4", "720h", tenth, budget("2")), four, Impact{Of: 4}},
		{"a budget that lets more go", poolOf("4", "720h", tenth), poolOf("4", "720h", budget("2")), four,
			Impact{Of: 4, Removable: 4}},
		{"some do not fit any more", poolOf("4", "720h", tenth), poolOf("8", "720h", tenth), []string{"4", "8", "8"},
			Impact{Of: 3, Rolled: 1, Removable: 2, Pace: &Pace{Wave: 1}}},
		{"one that did not fit before is not counted", poolOf("4", "720h", tenth), poolOf("4", "24h", tenth),
			[]string{"4", "2"}, Impact{Of: 2, Rolled: 1, Pace: &Pace{Wave: 1}}},
		{"the budget for other reasons does not hold", poolOf("4", "720h"),
			poolOf("4", "24h", budget("0", "reasons", []any{"Empty"})), four, Impact{Of: 4, Rolled: 4, Pace: &Pace{Wave: 4}}},
		{"the budget that holds at times does not hold always", poolOf("4", "720h"),
			poolOf("4", "24h", budget("0", "schedule", "0 9 * * *", "duration", "1h"), budget("3")), four,
			Impact{Of: 4, Rolled: 4, Pace: &Pace{Wave: 3}}},
		{"a budget that lets none go", poolOf("4", "720h"), poolOf("4", "24h", budget("0", "reasons", []any{"Drifted"})),
			four, Impact{Of: 4, Rolled: 4, Pace: &Pace{Never: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := append([]Node{{Pool: "another"}}, nodesOf(t, tt.before, tt.cpus...)...)
			p, err := Diff(t.Context(), State{Objects: []config.Object{tt.before}, Nodes: nodes},
				State{Objects: []config.Object{tt.head}, Nodes: nodes, Now: friday})
			if err != nil || len(p.Changes) != 1 {
				t.Fatalf("%+v, %v", p, err)
			}
			got := *p.Changes[0].Impact
			if got.Pace != nil {
				got.Pace = &Pace{Wave: got.Pace.Wave, Never: got.Pace.Never}
			}
			tt.want.Known = true
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Pace{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestANodeWithAnotherHashVersionIsReplacedIfItsClassMayHaveChanged, and not if nothing is compared.
func TestANodeWithAnotherHashVersionIsReplacedIfItsClassMayHaveChanged(t *testing.T) {
	after := judge{classes: map[string]string{"a": "1"}}
	for name, c := range map[string]struct {
		before  judge
		version string
		want    bool
	}{
		"the same":                 {judge{classes: map[string]string{"a": "1"}}, "lkeplan-v0", false},
		"another":                  {judge{classes: map[string]string{"a": "2"}}, "lkeplan-v0", true},
		"it was not declared":      {judge{classes: map[string]string{}}, "lkeplan-v0", true},
		"nothing is compared":      {judge{}, "lkeplan-v0", false},
		"a node that has no stamp": {judge{classes: map[string]string{"a": "2"}}, "", false},
	} {
		n := Node{Class: "a", Annotations: map[string]string{linodev1alpha1.AnnotationHashVersion: c.version}}
		if got := after.replaces(c.before, n); got != c.want {
			t.Errorf("%s: replaced is %v", name, got)
		}
	}
}

func TestConflictsAreChanges(t *testing.T) {
	o := poolOf("4", "720h")
	contested := o
	conflicts := map[manifest.Key][]Conflict{contested.Key(): {{Path: "spec.weight", Owner: "jane"}}}
	p, err := Diff(t.Context(), State{Objects: []config.Object{o}}, State{Objects: []config.Object{contested}, Conflicts: conflicts})
	if err != nil || len(p.Changes) != 1 || len(p.Changes[0].Conflicts) != 1 {
		t.Errorf("the conflict is not in the plan: %+v, %v", p, err)
	}
}
