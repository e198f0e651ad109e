package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/schemas"
)

func TestEachKindHasAWave(t *testing.T) {
	byKind := syncTreatments()
	for _, block := range schemas.Document() {
		if block.Object != nil && byKind[block.Object.Kind].wave == "" {
			t.Errorf("%s has no wave", block.Object.Kind)
		}
	}
}

func TestAnnotateLeavesWhatWasCompiledAsItIs(t *testing.T) {
	manifest := map[string]any{"kind": "NodePool", "metadata": map[string]any{
		"name": "a", "annotations": map[string]any{schemas.ArgoOptions: "Prune=false,,"},
	}}
	compiled := compile.Result{Compiled: config.Compiled{Objects: []config.Object{{Manifest: manifest}}}}
	got := Annotate(compiled).Objects[0].Manifest["metadata"]
	want := map[string]any{"name": "a", "annotations": map[string]any{
		schemas.ArgoOptions: "Prune=false,ServerSideApply=true,Delete=confirm", schemas.ArgoWave: "0",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotated (-want +got)\n%s", diff)
	}
	if annotations := manifest["metadata"].(map[string]any)["annotations"].(map[string]any); len(annotations) != 1 {
		t.Errorf("the compiled object has now %v", annotations)
	}
}

func TestTheRepositoryBeginsWhereTheTwoPathsDiffer(t *testing.T) {
	tests := []struct {
		dir, path string
		want      int
	}{
		{"/tmp/copy/clusters/prod", "clusters/prod", 2},
		{"/tmp/copy/clusters/prod", "./clusters//prod/", 2},
		{"/tmp/copy", ".", 0},
		{"/tmp/copy", "", 0},
		{"/tmp/copy/prod", "clusters/prod", 1}, // only the Application's common path was sent
		{"/tmp/copy/elsewhere", "clusters/prod", 0},
		{"/", "clusters/prod", 0},
	}
	for _, tt := range tests {
		if got := (Request{Path: tt.path}).Below(tt.dir); got != tt.want {
			t.Errorf("%s is %d below the root of a repository that has it at %q, want %d", tt.dir, got, tt.path, tt.want)
		}
	}
}
