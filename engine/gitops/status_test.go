package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestPlanFitsIntoComment(t *testing.T) {
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
