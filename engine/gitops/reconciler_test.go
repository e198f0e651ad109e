package gitops

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestDependenciesAreReady(t *testing.T) {
	is := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status}
	}
	tests := []struct {
		name       string
		conditions []metav1.Condition
		generation int64 // beyond the observed one
		ready      bool
	}{
		{"one that is new", nil, 0, false},
		{"one that is ready", []metav1.Condition{is("Ready", "True")}, 0, true},
		{"one that is ready, and is being reconciled again", []metav1.Condition{is("Ready", "True"), is("Reconciling", "True")}, 0, true},
		{"one that has changed since", []metav1.Condition{is("Ready", "True")}, 1, false},
		{"one that waits for approval", []metav1.Condition{is("Ready", "False"), is("Stalled", "True")}, 0, false},
	}
	for _, tt := range tests {
		other := nodePlan("a", "base")
		other.Generation, other.Status.Conditions = tt.generation, tt.conditions
		r := &Reconciler{Client: nodePlansOf(other)}
		np := nodePlan("a", "fleet")
		np.Spec.DependsOn = []lkeplanv1alpha1.NamespacedReference{{Name: "base"}}
		if waits, err := r.dependencies(t.Context(), np); err != nil || (waits == "") != tt.ready {
			t.Errorf("%s: %q, %v", tt.name, waits, err)
		}
	}
}

func TestNextReconciliation(t *testing.T) {
	type spec = lkeplanv1alpha1.NodePlanSpec
	plan := func(spec spec, outdated int) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{Spec: spec}
		np.Spec.Interval.Duration = time.Hour
		np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Outdated: outdated}}
		return np
	}
	retry := func(d time.Duration) spec { return spec{RetryInterval: &metav1.Duration{Duration: d}} }
	tests := []struct {
		name string
		plan *lkeplanv1alpha1.NodePlan
		o    outcome
		want time.Duration
	}{
		{"all is well", plan(spec{}, 0), outcome{}, time.Hour},
		{"somebody has to act", plan(spec{}, 0), outcome{stalled: true}, time.Hour},
		{"a failure", plan(spec{}, 0), outcome{failed: true}, retryInterval},
		{"a failure with an interval of its own", plan(retry(2*time.Minute), 0), outcome{failed: true}, 2 * time.Minute},
		{"a failure with an interval of a nanosecond", plan(retry(time.Nanosecond), 0), outcome{failed: true}, minInterval},
		{"an interval of 0", &lkeplanv1alpha1.NodePlan{}, outcome{}, minInterval},
		{"a repository that is polled", plan(spec{Git: &lkeplanv1alpha1.GitSource{}}, 0), outcome{}, gitInterval},
		{"nodes that are still to be replaced", plan(spec{}, 3), outcome{}, retryInterval},
	}
	for _, tt := range tests {
		if got := (&Reconciler{}).next(tt.plan, tt.o); got != tt.want {
			t.Errorf("%s: in %s, want %s", tt.name, got, tt.want)
		}
	}
}
