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
	ended := func(reason, message string) func(*lkeplanv1alpha1.NodePlan) {
		return func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Conditions[0].Reason, np.Status.Conditions[0].Message = reason, message
		}
	}
	const unreconciled = "the controller has not reconciled the NodePlan"
	for name, tt := range map[string]struct {
		change  func(*lkeplanv1alpha1.NodePlan)
		want    bool
		unknown string
	}{
		"waits for approval":           {func(*lkeplanv1alpha1.NodePlan) {}, true, ""},
		"waits for a window":           {func(np *lkeplanv1alpha1.NodePlan) { np.Status.Conditions[0].Status = metav1.ConditionUnknown }, true, ""},
		"suspended while it waits":     {func(np *lkeplanv1alpha1.NodePlan) { np.Generation, np.Spec.Suspend = 2, true }, true, ""},
		"it is ready, and has no plan": {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Status.Plan = nil }, false, ""},
		"the revision is applied, and a node is not ready": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision, np.Status.Conditions[0].Reason = "2", lkeplanv1alpha1.ReasonHealthCheckFailed
		}, false, ""},
		"its objects cannot be listed": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision = "2"
			ended(lkeplanv1alpha1.ReasonApplyFailed, "list NodePools: forbidden\nmore")(np)
		}, false, "list NodePools: forbidden"},
		"its source no longer exists": {ended(lkeplanv1alpha1.ReasonArtifactFailed, "there is no GitRepository"), false,
			"there is no GitRepository"},
		"an unknown reason": {ended("SomethingNew", ""), false, "SomethingNew"},
		"never reconciled":  {func(np *lkeplanv1alpha1.NodePlan) { np.Status.Conditions = nil }, false, unreconciled + " yet"},
		"its spec has changed": {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Generation = 2 }, false,
			unreconciled + " since its spec changed"},
		"suspended, and never reconciled": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Conditions, np.Spec.Suspend = nil, true
		}, false, "the NodePlan is suspended, and the controller has never reconciled it"},
		"suspended": {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Generation, np.Spec.Suspend = 2, true }, false,
			"the NodePlan is suspended: the controller compares nothing"},
		"it is being deleted": {func(np *lkeplanv1alpha1.NodePlan) { np.DeletionTimestamp = &metav1.Time{} }, false,
			"the NodePlan is being deleted"},
		"applied":                   {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Status.LastAppliedRevision = "2" }, false, ""},
		"reverted before it passed": {func(np *lkeplanv1alpha1.NodePlan) { ready(np); np.Status.LastAttemptedRevision = "1" }, false, ""},
		"a later revision does not compile": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAttemptedRevision = "3"
			ended(lkeplanv1alpha1.ReasonCompileFailed, "there is no node class nosuch")(np)
		}, false, "there is no node class nosuch"},
		"drift that a guard blocks": {func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision = "2"
			np.Status.Guards = []lkeplanv1alpha1.GuardStatus{{Status: "blocked"}}
		}, true, ""},
		"it only plans": {func(np *lkeplanv1alpha1.NodePlan) {
			ready(np)
			np.Spec.Mode, np.Status.LastAppliedRevision = lkeplanv1alpha1.ModePlanOnly, ""
		}, true, ""},
		"it only plans, and nothing changes": {func(np *lkeplanv1alpha1.NodePlan) {
			ready(np)
			np.Spec.Mode, np.Status.Plan.Update = lkeplanv1alpha1.ModePlanOnly, 0
		}, false, ""},
	} {
		if p, unknown := Pending(waiting(tt.change)); p != nil != tt.want || unknown != tt.unknown {
			t.Errorf("%s: a change is pending: %v, or unknown: %q", name, p != nil, unknown)
		}
	}
}
