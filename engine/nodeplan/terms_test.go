package nodeplan

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func TestIgnoredDrift(t *testing.T) {
	pool := config.Object{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: map[string]any{
		"kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"weight":     int64(10),
			"limits":     map[string]any{"cpu": "100", "nvidia.com/gpu": "2"},
			"disruption": map[string]any{"budgets": []any{"x"}},
		},
	}}
	const weight, cpu, gpu = "spec.weight", "spec.limits.cpu", "spec.limits[nvidia.com/gpu]"
	rule := func(path string) lkeplanv1alpha1.DriftIgnore {
		return lkeplanv1alpha1.DriftIgnore{Paths: []string{path}}
	}
	ofKind, ofName := rule("/spec/weight"), rule("/spec/weight")
	ofKind.Kind, ofName.Name = "LinodeNodeClass", "db"
	tests := []struct {
		name  string
		drift string // its path
		rule  lkeplanv1alpha1.DriftIgnore
		left  []string // of the spec's fields; nil for all
	}{
		{"the field", weight, rule("/spec/weight"), []string{"disruption", "limits", "limits.cpu", "limits.nvidia.com/gpu"}},
		{"a field around it", cpu, rule("/spec/limits"), []string{"disruption", "limits", "limits.nvidia.com/gpu", "weight"}},
		{"a key with a slash", gpu, rule("/spec/limits/nvidia.com~1gpu"), []string{"disruption", "limits", "limits.cpu", "weight"}},
		{"another field", weight, rule("/spec/limits"), nil},
		{"another kind", weight, ofKind, nil},
		{"another object", weight, ofName, nil},
		{"a field whose name begins alike", weight, rule("/spec/wei"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drift := []plan.Drift{{Kind: "NodePool", Name: "web", Path: tt.drift}}
			head := compile.Result{Compiled: config.Compiled{Objects: []config.Object{pool}}}
			head, found := compare.Without(head, drift, Ignored([]lkeplanv1alpha1.DriftIgnore{tt.rule}))
			if found != (tt.left != nil) {
				t.Errorf("found = %v", found)
			}
			want := tt.left
			if want == nil {
				want = []string{"disruption", "limits", "limits.cpu", "limits.nvidia.com/gpu", "weight"}
			}
			got := slices.Collect(maps.Keys(manifest.Map(head.Objects[0].Manifest, "spec")))
			for name := range manifest.Map(head.Objects[0].Manifest, "spec", "limits") {
				got = append(got, "limits."+name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStricterGuardHolds(t *testing.T) {
	const nodes = 50
	share := func(text string) config.Share { return plan.StricterShare(config.Share{}, text, nodes) }
	tests := []struct{ a, b, want string }{
		{"", "10%", "10%"}, {"10%", "", "10%"}, {"10%", "20%", "10%"}, {"20%", "10%", "10%"}, {"3", "5", "3"}, {"5", "3", "3"},
		{"3", "10%", "3"}, {"10%", "3", "3"}, {"6", "10%", "10%"}, {"10%", "6", "10%"},
	}
	for _, tt := range tests {
		if got := plan.StricterShare(share(tt.a), tt.b, nodes).Text; got != tt.want {
			t.Errorf("of %q and %q %q holds, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	one := 1
	more := &lkeplanv1alpha1.PlanGuards{MaxDeletedPools: &one, Protected: []string{"b"}}
	g := Stricter(config.Guards{MaxDeletedPools: 3, Protected: []string{"a"}}, more, nodes)
	if g.MaxDeletedPools != 1 || !slices.Equal(g.Protected, []string{"a", "b"}) {
		t.Errorf("%+v", g)
	}
}
