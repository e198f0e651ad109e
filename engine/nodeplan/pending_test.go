package nodeplan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestPending(t *testing.T) {
	waiting := func(change func(*lkeplanv1alpha1.NodePlan)) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{}
		np.Status.LastAppliedRevision, np.Status.LastAttemptedRevision = "1", "2"
		np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Revision: "2", Update: 1}
		np.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: lkeplanv1alpha1.ReasonGuarded}}
		change(np)
		return np
	}
	ready := func(np *lkeplanv1alpha1.NodePlan) { np.Status.Conditions[0].Status = metav1.ConditionTrue }
	for name, tt := range map[string]struct {
		change func(*lkeplanv1alpha1.NodePlan)
		want   bool
	}{
		"waits for approval":                {func(*lkeplanv1alpha1.NodePlan) {}, true},
		"waits for a window":                {func(np *lkeplanv1alpha1.NodePlan) { np.Status.Conditions[0].Status = metav1.ConditionUnknown }, true},
		"suspended while it waits":          {func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Suspend = true }, true},
		"no plan yet":                       {func(np *lkeplanv1alpha1.NodePlan) { np.Status.Plan = nil }, false},
		"applied":                           {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Status.LastAppliedRevision = "2" }, false},
		"reverted before it passed":         {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Status.LastAttemptedRevision = "1" }, false},
		"a later revision does not compile": {func(np *lkeplanv1alpha1.NodePlan) { np.Status.LastAttemptedRevision = "3" }, false},
		"drift that a guard blocks": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision = "2"
			np.Status.Guards = []lkeplanv1alpha1.GuardStatus{{Status: "blocked"}}
		}, true},
		"it only plans": {func(np *lkeplanv1alpha1.NodePlan) {
			ready(np)
			np.Spec.Mode, np.Status.LastAppliedRevision = lkeplanv1alpha1.ModePlanOnly, ""
		}, true},
		"it only plans, and nothing changes": {func(np *lkeplanv1alpha1.NodePlan) {
			ready(np)
			np.Spec.Mode, np.Status.Plan.Update = lkeplanv1alpha1.ModePlanOnly, 0
		}, false},
	} {
		if got := Pending(waiting(tt.change)) != nil; got != tt.want {
			t.Errorf("%s: a change is pending: %v", name, got)
		}
	}
}
