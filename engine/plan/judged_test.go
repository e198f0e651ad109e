package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnnamedFields: all that a configuration could have written is compared, regardless of its
// language lets it write; what the API server writes, and what lkeplan notes, is not.
func TestUnnamedFields(t *testing.T) {
	pool := func(metadata map[string]any) map[string]any {
		metadata["name"] = "web"
		return map[string]any{"kind": "NodePool", "metadata": metadata, "spec": map[string]any{}}
	}
	before := pool(map[string]any{"resourceVersion": "1", "generation": int64(1), "uid": "1"})
	after := pool(map[string]any{
		"resourceVersion": "2", "generation": int64(2), "uid": "1", "managedFields": []any{map[string]any{"manager": "jane"}},
		"finalizers":      []any{"example.com/never"},
		"ownerReferences": []any{map[string]any{"kind": "Namespace", "name": "none"}},
		"annotations": map[string]any{
			"karpenter.sh/nodepool-hash": "1", "lkeplan.dev/rolled-by": "1", "example.com/a": "1",
		},
		"labels": map[string]any{"lkeplan.dev/part-of": "dev"},
	})
	change := Change{Kind: "NodePool", Name: "web", Action: Update, Fields: []Field{{Path: "metadata.annotations[example.com/a]"}}}
	got, err := change.Unnamed(before, after)
	want := []string{"metadata.annotations[karpenter.sh/nodepool-hash]", "metadata.finalizers", "metadata.ownerReferences"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = change.Unnamed(pool(map[string]any{"labels": map[string]any{"lkeplan.dev/part-of": "prod"}}), after)
	if len(got) != 4 || got[2] != inventory || err != nil {
		t.Errorf("an object that changes hands: %v, %v", got, err)
	}
}
