package render

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestObjectsOfTwoNamespacesHaveTwoFiles, though they have one name.
func TestObjectsOfTwoNamespacesHaveTwoFiles(t *testing.T) {
	dir := t.TempDir()
	buffer := func(namespace string) map[string]any {
		return map[string]any{
			"kind":     "CapacityBuffer",
			"metadata": map[string]any{"namespace": namespace, "name": "spare"},
		}
	}
	written, deleted, err := Write(dir, []map[string]any{buffer("api"), buffer("web")})
	if err != nil || written != 3 || deleted != 0 {
		t.Fatalf("%d files written, %d deleted, %v", written, deleted, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n" +
		"- capacitybuffer-spare.yaml\n- capacitybuffer-web-spare.yaml\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("kustomization.yaml (-want +got)\n%s", diff)
	}
}
