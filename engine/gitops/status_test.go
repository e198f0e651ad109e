package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/progress"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestCorrectionsAreReported for our own objects, also for those that have a
// namespace, and not for fields that stay as they are.
func TestCorrectionsAreReported(t *testing.T) {
	web := manifest.Key{Kind: "NodePool", Name: "web"}
	buffer := manifest.Key{Kind: "CapacityBuffer", Namespace: "team", Name: "spare"}
	foreign := manifest.Key{Kind: "CapacityBuffer", Namespace: "other", Name: "spare"}
	ours := owned{web: true, buffer: true}
	for _, tt := range []struct {
		object manifest.Key
		kept   bool
		want   string
	}{
		{web, false, "NodePool web: spec.replicas was set to 9 by kubectl-edit, and is set back"},
		{buffer, false, "CapacityBuffer team/spare: spec.replicas was set to 9 by kubectl-edit, and is set back"},
		{foreign, false, ""},
		{web, true, ""},
	} {
		drift := plan.Drift{
			Kind: tt.object.Kind, Namespace: tt.object.Namespace, Name: tt.object.Name,
			Path: "spec.replicas", Live: 9, Owners: []string{"kubectl-edit"}, Kept: tt.kept,
		}
		if got := progress.Corrections(plan.Plan{Drift: []plan.Drift{drift}}, ours); got != tt.want {
			t.Errorf("corrections of %s: %q, want %q", tt.object, got, tt.want)
		}
	}
}

func TestAPlanIsACommentThatFits(t *testing.T) {
	var p plan.Plan
	for i := range 3000 {
		p.Changes = append(p.Changes, plan.Change{
			Addr:  fmt.Sprintf("pool.a_pool_with_a_long_name_%d", i),
			Block: "pool", Kind: "NodePool", Name: fmt.Sprint(i), Action: plan.Delete, Effect: plan.DeleteNodes,
		})
	}
	text, err := comment(&lkeplanv1alpha1.NodePlan{}, p, "sha256:1")
	text = diag.Shorten(text, maxEvent)
	if err != nil || len(text) > maxEvent {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if !strings.HasPrefix(text, "<!-- lkeplan:") || !strings.Contains(text, "pool.a_pool_with_a_long_name_0") {
		t.Errorf("the comment begins with %q", text[:min(len(text), 200)])
	}
}
