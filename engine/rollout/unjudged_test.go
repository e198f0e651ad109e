package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestWhatARevisionDoesNotChangeCostsNoNodes: setting back what others have set in it waits
// until the revision is applied, if reverting them would replace nodes.
func TestWhatARevisionDoesNotChangeCostsNoNodes(t *testing.T) {
	pool := func(name, value string) config.Object {
		return config.Object{Manifest: map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": name}, "spec": value,
		}}
	}
	base := []config.Object{pool("same", "1"), pool("same-too", "1"), pool("same-marked", "1"), pool("changed", "1")}
	head := []config.Object{pool("same", "1"), pool("same-too", "1"), pool("same-marked", "1"), pool("changed", "2"), pool("new", "1")}
	change := func(name string, effect plan.Effect) plan.Change {
		return plan.Change{Kind: "NodePool", Name: name, Effect: effect}
	}
	marked := change("same-marked", plan.Roll)
	marked.Old = map[string]any{"metadata": map[string]any{"annotations": map[string]any{Annotation: "0"}}}
	set := plan.Plan{Changes: []plan.Change{
		change("same", plan.Roll), change("same-too", plan.None), change("changed", plan.Roll), change("new", plan.Roll), marked,
	}}
	want := map[manifest.Key]bool{{Kind: "NodePool", Name: "same"}: true}
	if diff := cmp.Diff(want, NotEvaluated(base, head, set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
