package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// liveOf is a pool as a cluster has it, with the managers of its fields.
func liveOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestDrifts(t *testing.T) {
	written := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"weight": 10.0, "limits": map[string]any{"cpu": "100"}},
	}
	defaulted := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"weight": 10.0, "limits": map[string]any{"cpu": "100"},
			"disruption": map[string]any{"consolidateAfter": "0s"}},
	}
	head := config.Object{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: written, Defaulted: defaulted}
	owned := func(manager, fields string) string {
		return `{"manager": "` + manager +
			`", "operation": "Update", "apiVersion": "karpenter.sh/v1", "fieldsType": "FieldsV1", "fieldsV1": ` + fields + `}`
	}
	ours := owned("lkeplan", `{"f:spec": {"f:weight": {}, "f:limits": {"f:cpu": {}}}}`)
	tests := []struct {
		name string
		live string
		want []Drift
	}{
		{"no other owner", `{"metadata": {"managedFields": [` + ours + `]}, "spec": {"weight": 50, "limits": {"cpu": "100"}}}`,
			nil},
		{"another owner has set the same", `{"metadata": {"managedFields": [` +
			owned("jane", `{"f:spec": {"f:weight": {}, "f:limits": {"f:cpu": {}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}}}`, nil},
		{"a finalizer of a controller", `{"metadata": {"finalizers": ["example.com/a"], "managedFields": [` +
			owned("controller", `{"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/a\"": {}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}}}`, nil},
		{"a value that is contested", `{"metadata": {"managedFields": [` +
			owned("kubectl-edit", `{"f:spec": {"f:weight": {}}}`) + `]}, "spec": {"weight": 50, "limits": {"cpu": "100"}}}`,
			[]Drift{{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: "spec.weight", Applied: 10.0, Live: 50.0,
				Owners: []string{"kubectl-edit"}}}},
		{"a limit beside ours", `{"metadata": {"managedFields": [` + ours + `,` +
			owned("kubectl-edit", `{"f:spec": {"f:limits": {"f:memory": {}, "f:nvidia.com/gpu": {}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100", "memory": "1Ti", "nvidia.com/gpu": "2"}}}`,
			[]Drift{
				{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: "spec.limits.memory", Live: "1Ti",
					Owners: []string{"kubectl-edit"}, Kept: true},
				{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: "spec.limits[nvidia.com/gpu]", Live: "2",
					Owners: []string{"kubectl-edit"}, Kept: true},
			}},
		{"a list that another owner owns as a whole", `{"metadata": {"managedFields": [` +
			owned("helm", `{"f:spec": {"f:template": {"f:spec": {"f:requirements": {}}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}, "template": {"spec": {"requirements": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}}}}`,
			[]Drift{{Addr: "pool.web", Kind: "NodePool", Name: "web",
				Path: "spec.template.spec.requirements[kubernetes.io/arch]",
				Live: []any{map[string]any{"key": "kubernetes.io/arch", "operator": "Exists"}}, Owners: []string{"helm"},
				Kept: true}}},
		{"a default that another owner got with the rest", `{"metadata": {"managedFields": [` +
			owned("jane", `{"f:spec": {"f:disruption": {"f:consolidateAfter": {}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}, "disruption": {"consolidateAfter": "0s"}}}`, nil},
		{"what controllers keep for themselves",
			`{"metadata": {"annotations": {"karpenter.sh/nodepool-hash": "1"}, "managedFields": [` +
				owned("karpenter", `{"f:metadata": {"f:annotations": {"f:karpenter.sh/nodepool-hash": {}}}}`) +
				`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}}}`, nil},
		{"an annotation of another owner", `{"metadata": {"annotations": {"team.example.com/owner": "web"}, "managedFields": [` +
			owned("jane", `{"f:metadata": {"f:annotations": {"f:team.example.com/owner": {}}}}`) +
			`]}, "spec": {"weight": 10, "limits": {"cpu": "100"}}}`,
			[]Drift{{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: "metadata.annotations[team.example.com/owner]",
				Live: "web", Owners: []string{"jane"}, Kept: true}}},
	}
	template := func(metadata, spec map[string]any) config.Object {
		text := map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"template": map[string]any{"metadata": metadata, "spec": spec}},
		}
		return config.Object{Addr: head.Addr, Manifest: text, Defaulted: text}
	}
	hand := func(part, value string) string {
		return `{"metadata": {"managedFields": [` +
			owned("kubectl-patch", `{"f:spec": {"f:template": {"f:metadata": {"f:labels": {}}, "f:spec": {"f:taints": {}}}}}`) +
			`]}, "spec": {"template": {"` + part + `": ` + value + `}}}`
	}
	const labels, taints = "spec.template.metadata.labels", "spec.template.spec.taints"
	of := func(path string, applied, live any, kept bool) Drift {
		d := Drift{Addr: "pool.web", Kind: "NodePool", Name: "web", Path: path, Applied: applied, Live: live,
			Owners: []string{"kubectl-patch"}, Kept: kept}
		if strings.HasPrefix(path, labels) {
			d.Whole = labels
		}
		return d
	}
	ofTemplate := []struct {
		name string
		head config.Object
		live string
		want []Drift
	}{
		{"a label of nodes where the head has none", template(nil, nil), hand("metadata", `{"labels": {"hand": "made"}}`),
			[]Drift{of(labels+".hand", nil, "made", true)}},
		{"a label of nodes with a slash", template(nil, nil), hand("metadata", `{"labels": {"example.com/hand": "made"}}`),
			[]Drift{of(labels+"[example.com/hand]", nil, "made", true)}},
		{"a label of nodes beside those of the head", template(map[string]any{"labels": map[string]any{"team": "web"}}, nil),
			hand("metadata", `{"labels": {"hand": "made", "team": "web"}}`), []Drift{of(labels+".hand", nil, "made", false)}},
		{"a label of nodes instead of that of the head", template(map[string]any{"labels": map[string]any{"team": "web"}}, nil),
			hand("metadata", `{"labels": {"hand": "made"}}`),
			[]Drift{of(labels+".hand", nil, "made", false), of(labels+".team", "web", nil, false)}},
		{"a taint beside that of the head", template(nil, map[string]any{"taints": []any{map[string]any{"key": "a", "effect": "NoExecute"}}}),
			hand("spec", `{"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]}`),
			[]Drift{of(taints+"[b:NoExecute]", nil, []any{map[string]any{"key": "b", "effect": "NoExecute"}}, false)}},
	}
	for _, tt := range ofTemplate {
		t.Run(tt.name, func(t *testing.T) {
			live := liveOf(t, tt.live)
			got, err := Drifts(nil, []config.Object{tt.head}, map[manifest.Key]map[string]any{head.Key(): live}, "lkeplan")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
			others, err := SetByOthers(&unstructured.Unstructured{Object: live}, "lkeplan")
			if err != nil || len(others) == 0 {
				t.Errorf("fields set by others: %v, error %v", others, err)
			}
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live := liveOf(t, tt.live)
			got, err := Drifts(nil, []config.Object{head}, map[manifest.Key]map[string]any{head.Key(): live}, "lkeplan")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
		})
	}
}
