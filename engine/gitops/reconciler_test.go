package gitops

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestDependenciesMustBeReady(t *testing.T) {
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

// TestDependencyWithSameSourceMustApplyRevision: that it was ready for an older one
// says nothing.
func TestDependencyWithSameSourceMustApplyRevision(t *testing.T) {
	of := func(name, source, applied string) *lkeplanv1alpha1.NodePlan {
		np := nodePlan("a", name)
		np.Spec.SourceRef = &lkeplanv1alpha1.SourceReference{Kind: "GitRepository", Name: source}
		np.Status.LastAppliedRevision = applied
		np.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
		return np
	}
	for _, tt := range []struct {
		name  string
		other *lkeplanv1alpha1.NodePlan
		ready bool
	}{
		{"the same revision", of("base", "fleet", "main@sha1:1"), true},
		{"an older one", of("base", "fleet", "main@sha1:0"), false},
		{"another source", of("base", "other", "main@sha1:0"), true},
	} {
		r := &Reconciler{Client: nodePlansOf(tt.other), Worker: &Worker{Sources: scripted{}}}
		np := of("fleet", "fleet", "")
		np.Spec.DependsOn = []lkeplanv1alpha1.NamespacedReference{{Name: "base"}}
		if waits, err := r.dependencies(t.Context(), np); err != nil || (waits == "") != tt.ready {
			t.Errorf("%s: %q, %v", tt.name, waits, err)
		}
	}
}

// TestIntervalsHaveJitter by the jitter, to either side.
func TestIntervalsHaveJitter(t *testing.T) {
	r := &Reconciler{Jitter: 0.05}
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := r.jittered(10 * time.Minute)
		least, most = min(least, d), max(most, d)
	}
	const spread = 30 * time.Second
	if least < 10*time.Minute-spread || most > 10*time.Minute+spread || most-least < spread {
		t.Errorf("from %s to %s", least, most)
	}
}

// TestUnwatchedObjectsArePolled: Secrets with variables, and a revision that proves itself.
func TestUnwatchedObjectsArePolled(t *testing.T) {
	from := func(kind string) *lkeplanv1alpha1.NodePlan {
		np := nodePlan("a", "fleet")
		np.Spec.Interval.Duration = time.Hour
		np.Spec.VariablesFrom = []lkeplanv1alpha1.VariablesReference{{Kind: kind, Name: "values"}}
		return np
	}
	soon := done(lkeplanv1alpha1.ReasonProving, "")
	soon.inProgress, soon.requeueAfter = true, 7*time.Second
	for _, tt := range []struct {
		np   *lkeplanv1alpha1.NodePlan
		o    outcome
		want time.Duration
	}{
		{from("ConfigMap"), outcome{}, time.Hour}, {from("Secret"), outcome{}, time.Minute},
		{from("Secret"), outcome{failed: true}, 30 * time.Second}, {from("ConfigMap"), soon, 7 * time.Second},
	} {
		if got := (&Reconciler{Worker: &Worker{Now: time.Now}}).next(tt.np, tt.o); got != tt.want {
			t.Errorf("%s after %+v: %s, want %s", tt.np.Spec.VariablesFrom[0].Kind, tt.o, got, tt.want)
		}
	}
}

// TestShardsDivideNodePlans: one reconciles what its selector names.
func TestShardsDivideNodePlans(t *testing.T) {
	selector, err := labels.Parse("shard=1")
	if err != nil {
		t.Fatal(err)
	}
	for shard, want := range map[string]bool{"1": true, "2": false, "": false} {
		np := nodePlan("a", "fleet")
		np.Labels = map[string]string{"shard": shard}
		if got := (&Reconciler{Shard: selector}).inShard(np); got != want {
			t.Errorf("shard %q: %v, want %v", shard, got, want)
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
		{"a user has to act", plan(spec{}, 0), outcome{stalled: true}, time.Hour},
		{"a failure", plan(spec{}, 0), outcome{failed: true}, retryInterval},
		{"a failure with a separate interval", plan(retry(2*time.Minute), 0), outcome{failed: true}, 2 * time.Minute},
		{"a failure with an interval of a nanosecond", plan(retry(time.Nanosecond), 0), outcome{failed: true}, minInterval},
		{"an interval of 0", &lkeplanv1alpha1.NodePlan{}, outcome{}, minInterval},
		{"nodes that are still to be replaced", plan(spec{}, 3), outcome{}, time.Hour},
		{"pools that drain", plan(spec{}, 3), outcome{inProgress: true}, retryInterval},
	}
	for _, tt := range tests {
		if got := (&Reconciler{}).next(tt.plan, tt.o); got != tt.want {
			t.Errorf("%s: in %s, want %s", tt.name, got, tt.want)
		}
	}
}
