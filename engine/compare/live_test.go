package compare

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// asApplied are the objects of a configuration as a cluster has them that they
// were applied to.
func asApplied(t *testing.T, head compile.Result) map[string]map[string]any {
	t.Helper()
	validator := kube.BuiltinValidator()
	live := map[string]map[string]any{}
	for _, o := range head.Objects {
		predicted, _, err := validator.Predict(nil, head.Labelled(o.Manifest))
		if err != nil {
			t.Fatal(err)
		}
		manifest.Map(predicted, "metadata")["uid"] = o.Name()
		predicted["status"] = map[string]any{"conditions": []any{}}
		live[o.Kind()] = predicted
	}
	return live
}

// TestUnchangedIsWhatAnApplyWouldLeave: it has the fields, the label of its
// configuration, and their owner.
func TestUnchangedIsWhatAnApplyWouldLeave(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	head := compiled(t, `
node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  weight       = 10
}
`)
	spec := func(pool map[string]any) map[string]any { return manifest.Map(pool, "spec") }
	for name, tt := range map[string]struct {
		edit      func(pool map[string]any)
		unchanged bool
	}{
		"as it was applied": {func(map[string]any) {}, true},
		"its status has changed": {func(pool map[string]any) { pool["status"] = map[string]any{"nodes": int64(3)} },
			true},
		"a field has another value": {func(pool map[string]any) { spec(pool)["weight"] = int64(20) }, false},
		"the inventory label is gone": {func(pool map[string]any) { delete(manifest.Map(pool, "metadata"), "labels") },
			false},
		"its fields have no owner": {func(pool map[string]any) {
			delete(manifest.Map(pool, "metadata"),
				"managedFields")
		}, false},
		"another owner set another field": {func(pool map[string]any) { spec(pool)["limits"] = map[string]any{"cpu": "9"} },
			true},
		"a list has another order": {reverse, true},
	} {
		t.Run(name, func(t *testing.T) {
			live := asApplied(t, head)
			tt.edit(live["NodePool"])
			view := cluster{}
			for kind, obj := range live {
				raw, err := json.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				view[kind] = []string{string(raw)}
			}
			found, err := Live(t.Context(), head, LiveView(view), LiveOptions{Base: head, Prices: prices})
			if err != nil {
				t.Fatal(err)
			}
			for _, target := range found.Targets {
				want := tt.unchanged || manifest.Kind(target.Desired) != "NodePool"
				if target.Unchanged != want || target.Live == nil {
					t.Errorf("%s: unchanged: %v, want %v", manifest.KeyOf(target.Desired), target.Unchanged, want)
				}
			}
			if p := found.Plan; tt.unchanged && !p.Empty() {
				t.Errorf("the plan is not empty: %+v", p.Changes)
			}
		})
	}
}

// reverse turns the requirements of a pool round.
func reverse(pool map[string]any) {
	list := manifest.Map(pool, "spec", "template", "spec")["requirements"].([]any)
	slices.Reverse(list)
}
