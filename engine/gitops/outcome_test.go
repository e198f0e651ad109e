package gitops

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestConditionsFollowOutcomes takes one NodePlan through outcomes, one after
// the other.
func TestConditionsFollowOutcomes(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	prunes := done(lkeplanv1alpha1.ReasonPruning, "d")
	prunes.inProgress = true
	for _, step := range []struct {
		wait                                bool
		outcome                             outcome
		ready, reconciling, stalled, health metav1.ConditionStatus // "": not there
	}{
		{false, done(lkeplanv1alpha1.ReasonSucceeded, "a"), "True", "", "", ""},
		{true, done(lkeplanv1alpha1.ReasonSucceeded, "a"), "True", "", "", "True"},
		{true, stalled(lkeplanv1alpha1.ReasonCompileFailed, "b").outcome, "False", "", "True", "True"},
		{true, failed(lkeplanv1alpha1.ReasonHealthCheckFailed, "c").outcome, "False", "True", "", "False"},
		{true, done(lkeplanv1alpha1.ReasonSucceeded, "c"), "True", "", "", "True"},
		{false, done(lkeplanv1alpha1.ReasonSucceeded, "c"), "True", "", "", ""},
		{false, stalled(lkeplanv1alpha1.ReasonCompileFailed, "b").outcome, "False", "", "True", ""},
		{true, prunes, "Unknown", "True", "", "True"},
		{false, done(lkeplanv1alpha1.ReasonSucceeded, "c"), "True", "", "", ""},
	} {
		np.Spec.Wait = step.wait
		setConditions(np, step.outcome)
		for name, want := range map[string]metav1.ConditionStatus{
			meta.ReadyCondition: step.ready, meta.ReconcilingCondition: step.reconciling,
			meta.StalledCondition: step.stalled, lkeplanv1alpha1.ConditionHealthy: step.health,
		} {
			var got metav1.ConditionStatus
			if c := conditions.Get(np, name); c != nil {
				got = c.Status
			}
			if got != want {
				t.Errorf("after %s %q with wait: %v, %s is %q, want %q",
					step.outcome.reason, step.outcome.message, step.wait, name, got, want)
			}
		}
	}
}
