package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
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
	text, err := planComment(&lkeplanv1alpha1.NodePlan{}, p, "sha256:1")
	text = diag.Shorten(text, maxEvent)
	if err != nil || len(text) > maxEvent {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if !strings.HasPrefix(text, "<!-- lkeplan:") || !strings.Contains(text, "pool.a_pool_with_a_long_name_0") {
		t.Errorf("the comment begins with %q", text[:min(len(text), 200)])
	}
}

// TestStatusNamesNodesThatMove: with the change that moves them and the saving, at most a hundred.
func TestStatusNamesNodesThatMove(t *testing.T) {
	moved := plan.Change{Addr: "pool.web", Kind: "NodePool", Action: plan.Keep, Effect: plan.MayRemove, Loosens: true, Because: []string{"pool.cheap"},
		Impact: &plan.Impact{Known: true, Of: 120, Removable: 120}}
	for i := range 120 {
		moved.Impact.Moves = append(moved.Impact.Moves, plan.Move{Node: fmt.Sprintf("web-%d", i), NodeName: fmt.Sprintf("lke1-%d", i), Pool: "web",
			Plan: "g6-standard-4", To: []string{"cheap g6-standard-2"}, Pods: 1, Saves: plan.Amount(24 * catalog.Dollar)})
	}
	var np lkeplanv1alpha1.NodePlan
	writePlan(&np, plan.Plan{Changes: []plan.Change{{Addr: "pool.cheap", Kind: "NodePool", Action: plan.Create}, moved}}, "main@sha1:1", "sha256:1")
	if np.Status.Plan == nil || len(np.Status.Plan.Moves) != mostListed {
		t.Fatalf("the status is %+v", np.Status.Plan)
	}
	if got, want := summaryLine(plan.Plan{Changes: []plan.Change{moved}, Waves: true}), "no objects change; 120 nodes removed or replaced by Karpenter in "+
		"pool.web, which no first wave holds"; got != want {
		t.Errorf("with a rollout: %q, want %q", got, want)
	}
	want := lkeplanv1alpha1.PlannedMove{NodeClaim: "web-0", Node: "lke1-0",
		Effect: "because of pool.cheap: replaced by cheap g6-standard-2; 1 pod moved; saves $24 a month"}
	if got := np.Status.Plan.Moves[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
