package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// smallSteps is a policy on the number of objects that one change creates and deletes.
func smallSteps(objects int) string {
	return fmt.Sprintf(`
policy "small_steps" {
  condition     = plan.objects.created + plan.objects.deleted <= %d
  error_message = "${plan.objects.created} objects created and ${plan.objects.deleted} deleted, at most %[1]d allowed."
}
`, objects)
}

// TestPoliciesHoldFromTheFirstRevisionOn: the first revision is judged by its own
// policies; each later one by those that were last applied, so that it cannot lift
// them for itself. What they refuse can be approved.
func TestPoliciesHoldFromTheFirstRevisionOn(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.source("fleet", fleet(smallSteps(3), "a", "b", "c"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	refuses := func(what, says string) {
		t.Helper()
		np := s.untilPlan("fleet", what, func(np *lkeplanv1alpha1.NodePlan) bool {
			return awaitsApproval(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), says)
		})
		if !conditions.IsStalled(np) {
			t.Errorf("a plan that a policy refuses is tried again: %+v", np.Status.Conditions)
		}
	}
	refuses("the first revision is refused by its own policy",
		"4 objects created and 0 deleted, at most 3 allowed.")
	if got := s.pools(); len(got) != 0 {
		t.Errorf("pools %v are there though a policy has refused them", got)
	}

	s.source("fleet", fleet(smallSteps(3), "a", "b"))
	s.untilPlan("fleet", "a first revision within its policy is applied", because(lkeplanv1alpha1.ReasonSucceeded))

	s.source("fleet", fleet(smallSteps(10), "a", "b", "c", "d", "e", "f"))
	refuses("a revision that lifts the policy for itself is refused",
		"4 objects created and 0 deleted, at most 3 allowed.")
	s.approve("fleet")
	s.untilPlan("fleet", "it is applied after its approval", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(s.pools()) == 6
	})
}
