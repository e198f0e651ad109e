package gitops

import (
	"testing"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestCorrectionsAreReported for our own objects, also for those that have a
// namespace, and not for fields that stay as they are.
func TestCorrectionsAreReported(t *testing.T) {
	ours := owned{{Kind: "NodePool", Name: "web"}: true, {Kind: "CapacityBuffer", Namespace: "team", Name: "spare"}: true}
	drift := func(key manifest.Key, kept bool) plan.Drift {
		return plan.Drift{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Path: "spec.replicas", Live: 9, Owners: []string{"kubectl-edit"}, Kept: kept}
	}
	for _, tt := range []struct {
		drift plan.Drift
		want  string
	}{
		{drift(manifest.Key{Kind: "NodePool", Name: "web"}, false), "NodePool web: spec.replicas was set to 9 by kubectl-edit, and is set back"},
		{drift(manifest.Key{Kind: "CapacityBuffer", Namespace: "team", Name: "spare"}, false), "CapacityBuffer team/spare: spec.replicas was set to 9 by kubectl-edit, and is set back"},
		{drift(manifest.Key{Kind: "CapacityBuffer", Namespace: "other", Name: "spare"}, false), ""},
		{drift(manifest.Key{Kind: "NodePool", Name: "web"}, true), ""},
	} {
		if got := corrections(plan.Plan{Drift: []plan.Drift{tt.drift}}, ours); got != tt.want {
			t.Errorf("corrections of %s: %q, want %q", tt.drift.Key(), got, tt.want)
		}
	}
}
