package migrate

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOthers: a live object keeps its name if the import would change it.
func TestOthers(t *testing.T) {
	const kind = "apiVersion: karpenter.k8s.linode/v1\nkind: LinodeNodeClass\n"
	for name, tt := range map[string]struct {
		live, object string
		want         bool
	}{
		"it has the same spec": {kind + "metadata: {name: default}\nspec: {}", kind + "metadata: {name: default}\nspec: {}", false},
		"it has another spec":  {kind + "metadata: {name: default}\nspec: {tags: [a]}", kind + "metadata: {name: default}\nspec: {}", true},
		"it has another name":  {kind + "metadata: {name: other}\nspec: {tags: [a]}", kind + "metadata: {name: default}\nspec: {}", false},
		"it has another spec, and is managed by lkeplan": {kind + "metadata: {name: default, labels: {lkeplan.dev/part-of: dev}}\nspec: {tags: [a]}",
			kind + "metadata: {name: default}\nspec: {}", true},
	} {
		t.Run(name, func(t *testing.T) {
			var objects [2]map[string]any
			for n, text := range []string{tt.live, tt.object} {
				if err := yaml.Unmarshal([]byte(text), &objects[n]); err != nil {
					t.Fatal(err)
				}
			}
			if got := Others(objects[:1])(objects[1]); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
