package gitops

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// told remembers the events that were published.
type told struct{ events, tokens []string }

func (t *told) Event(_ runtime.Object, kind, reason, message string) {
	t.events = append(t.events, kind+" "+reason+" "+message)
}

func (t *told) Eventf(obj runtime.Object, kind, reason, format string, args ...any) {
	t.Event(obj, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf leaves out the token, which is a time.
func (t *told) AnnotatedEventf(obj runtime.Object, metadata map[string]string, kind, reason, format string, args ...any) {
	t.tokens = append(t.tokens, metadata[TokenKey])
	metadata = maps.Clone(metadata)
	delete(metadata, TokenKey)
	t.Event(obj, kind, reason, fmt.Sprintf("%v ", metadata)+fmt.Sprintf(format, args...))
}

// TestEventsAreNews: each outcome after the one before it, and what is said.
func TestEventsAreNews(t *testing.T) {
	applied := done(lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:1").changed(true)
	applied.revision, applied.origin = "main@sha1:1", "sha1:0"
	applied.event = "Applied revision: main@sha1:1\n1 to create"
	again := applied
	again.news = false
	refused := stalled(lkeplanv1alpha1.ReasonGuarded, "it waits").changed(true)
	refused.revision, refused.origin = "main@sha1:3", "sha1:2"
	unchanged := done(lkeplanv1alpha1.ReasonPlanned, "a plan")
	unchanged.refused, unchanged.revision, unchanged.event = lkeplanv1alpha1.ReasonGuarded, "main@sha1:4", "the whole plan"
	stopped := unchanged.changed(true)
	correcting := applied
	correcting.corrected = "NodePool web: spec.weight"
	const (
		news   = "Normal ReconciliationSucceeded map[lkeplan.dev/originRevision:sha1:0 lkeplan.dev/revision:main@sha1:1] Applied revision: main@sha1:1\n1 to create"
		status = "Normal ReconciliationSucceeded map[lkeplan.dev/commit_status:update lkeplan.dev/originRevision:sha1:0 lkeplan.dev/revision:main@sha1:1] Applied revision: main@sha1:1"
	)
	tests := []struct {
		name string
		then outcome
		want []string
	}{
		{"the first revision", applied, []string{news, status}},
		{"the same again", again, nil},
		{"the same again, with something set back", correcting, []string{"Normal DriftCorrected NodePool web: spec.weight", news, status}},
		{"a failure without a revision", failed(lkeplanv1alpha1.ReasonArtifactFailed, "it is gone"), []string{"Warning ArtifactFailed map[] it is gone"}},
		{"the same failure", failed(lkeplanv1alpha1.ReasonArtifactFailed, "it is gone"), nil},
		{"a refusal", refused, []string{"Warning ApprovalPending map[lkeplan.dev/originRevision:sha1:2 lkeplan.dev/revision:main@sha1:3] it waits"}},
		{"the same refusal", refused, nil},
		{"done again", applied, []string{news, status}},
		{"a plan that could not be applied", stopped, []string{"Warning ApprovalPending map[lkeplan.dev/revision:main@sha1:4] the whole plan"}},
		{"the same plan", unchanged, nil},
	}
	np := &lkeplanv1alpha1.NodePlan{}
	np.Status.LastAttemptedRevision, np.Status.LastAppliedOriginRevision = "main@sha1:1", "sha1:0"
	for _, tt := range tests {
		log := &told{}
		r := &Reconciler{EventRecorder: log}
		before := np.DeepCopy()
		settle(np, tt.then)
		r.announce(np, before, tt.then)
		if diff := cmp.Diff(tt.want, log.events); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTheSameIsToldAgainAfterTheOpposite(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	log := &told{}
	for _, at := range []string{"2026-11-20T08:00:00Z", "2026-11-20T08:01:00Z"} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		np.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(moment)}}
		(&Reconciler{EventRecorder: log}).announce(np, &lkeplanv1alpha1.NodePlan{}, done(lkeplanv1alpha1.ReasonSucceeded, "Applied").changed(true))
	}
	if diff := cmp.Diff([]string{"2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z", "2026-11-20T08:01:00Z", "2026-11-20T08:01:00Z"}, log.tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestAPlanIsACommentThatFits(t *testing.T) {
	var p plan.Plan
	for i := range 3000 {
		p.Changes = append(p.Changes, plan.Change{Addr: fmt.Sprintf("pool.a_pool_with_a_long_name_%d", i), Block: "pool", Kind: "NodePool", Name: fmt.Sprint(i), Action: plan.Delete, Effect: plan.DeleteNodes})
	}
	text, err := comment(&lkeplanv1alpha1.NodePlan{}, p, "sha256:1")
	if err != nil || len(text) > maxEvent {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if !strings.HasPrefix(text, "<!-- lkeplan:") || !strings.Contains(text, "pool.a_pool_with_a_long_name_0") {
		t.Errorf("the comment begins with %q", text[:min(len(text), 200)])
	}
}

func TestWhichDependenciesAreReady(t *testing.T) {
	is := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status}
	}
	tests := []struct {
		name       string
		conditions []metav1.Condition
		generation int64 // beyond the one that was looked at
		ready      bool
	}{
		{"one that is new", nil, 0, false},
		{"one that is ready", []metav1.Condition{is("Ready", "True")}, 0, true},
		{"one that is ready, and is being looked at again", []metav1.Condition{is("Ready", "True"), is("Reconciling", "True")}, 0, true},
		{"one that has changed since", []metav1.Condition{is("Ready", "True")}, 1, false},
		{"one that waits for approval", []metav1.Condition{is("Ready", "False"), is("Stalled", "True")}, 0, false},
	}
	for _, tt := range tests {
		other := nodePlan("a", "base")
		other.Generation, other.Status.Conditions = tt.generation, tt.conditions
		r := &Reconciler{Client: nodePlans{there: map[client.ObjectKey]lkeplanv1alpha1.NodePlan{{Namespace: "a", Name: "base"}: *other}}}
		np := nodePlan("a", "fleet")
		np.Spec.DependsOn = []lkeplanv1alpha1.NamespacedReference{{Name: "base"}}
		if waits, err := r.dependencies(t.Context(), np); err != nil || (waits == "") != tt.ready {
			t.Errorf("%s: %q, %v", tt.name, waits, err)
		}
	}
}

func TestWhenANodePlanIsLookedAtAgain(t *testing.T) {
	plan := func(spec lkeplanv1alpha1.NodePlanSpec, outdated int) *lkeplanv1alpha1.NodePlan {
		spec.Interval.Duration = time.Hour
		return &lkeplanv1alpha1.NodePlan{Spec: spec, Status: lkeplanv1alpha1.NodePlanStatus{Pools: []lkeplanv1alpha1.PoolStatus{{Outdated: outdated}}}}
	}
	git := lkeplanv1alpha1.NodePlanSpec{Git: &lkeplanv1alpha1.GitSource{}}
	tests := []struct {
		name string
		plan *lkeplanv1alpha1.NodePlan
		o    outcome
		want time.Duration
	}{
		{"all is well", plan(lkeplanv1alpha1.NodePlanSpec{}, 0), outcome{}, time.Hour},
		{"somebody has to act", plan(lkeplanv1alpha1.NodePlanSpec{}, 0), outcome{stalled: true}, time.Hour},
		{"a failure", plan(lkeplanv1alpha1.NodePlanSpec{}, 0), outcome{failed: true}, soon},
		{"a failure with an interval of its own", plan(lkeplanv1alpha1.NodePlanSpec{RetryInterval: &metav1.Duration{Duration: 2 * time.Minute}}, 0), outcome{failed: true}, 2 * time.Minute},
		{"a failure with an interval of nothing", plan(lkeplanv1alpha1.NodePlanSpec{RetryInterval: &metav1.Duration{Duration: time.Nanosecond}}, 0), outcome{failed: true}, soonest},
		{"an interval of nothing", &lkeplanv1alpha1.NodePlan{}, outcome{}, soonest},
		{"a repository that is asked", plan(git, 0), outcome{}, askGitEvery},
		{"nodes that are still to be replaced", plan(lkeplanv1alpha1.NodePlanSpec{}, 3), outcome{}, soon},
	}
	for _, tt := range tests {
		if got := (&Reconciler{}).next(tt.plan, tt.o); got != tt.want {
			t.Errorf("%s: in %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCorrectionsAreAnnounced: of objects with a namespace too, and of none that is
// not applied from here.
func TestCorrectionsAreAnnounced(t *testing.T) {
	buffer := plan.Drift{Kind: "CapacityBuffer", Namespace: "web", Name: "spare", Path: "spec.replicas", Live: int64(9), Owners: []string{"kubectl-edit"}}
	kept, foreign := buffer, buffer
	kept.Kept, foreign.Namespace = true, "other"
	got := corrections(plan.Plan{Drift: []plan.Drift{buffer, kept, foreign}}, owned{buffer.Key(): true})
	if want := "CapacityBuffer web/spare: spec.replicas was set to 9 by kubectl-edit, and is set back"; got != want {
		t.Errorf("corrections = %q, want %q", got, want)
	}
}
