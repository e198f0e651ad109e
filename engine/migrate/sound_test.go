package migrate

import (
	"maps"
	"testing"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestObjectsOfAClusterAreSound: what the API server adds, such as the owners of fields, is not a reason to leave an object out.
func TestObjectsOfAClusterAreSound(t *testing.T) {
	validator := kube.BuiltinValidator()
	live, _, err := validator.Predict(nil, map[string]any{
		"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"tags": []any{"a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(manifest.Map(live, "metadata"), map[string]any{
		"uid": "1", "resourceVersion": "5", "generation": int64(1), "creationTimestamp": "2026-11-20T17:00:00Z",
	})
	sound, left := Sound([]manifests.Object{{Fields: live}})
	if len(sound) != 1 || len(left) > 0 {
		t.Errorf("%d objects, left out %q", len(sound), left)
	}
}
