package gitops

import (
	std "cmp"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// recorder records the messages of the events that are published.
type recorder struct {
	record.EventRecorder
	messages []string
}

func (r *recorder) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, _, _ string, args ...any) {
	r.messages = append(r.messages, args[0].(string))
}

func (r *recorder) Eventf(runtime.Object, string, string, string, ...any) {}

// TestEventsReportOnlyNews takes one NodePlan through outcomes, one after the other.
func TestEventsReportOnlyNews(t *testing.T) {
	const (
		origin  = "lkeplan.dev/originRevision"
		rev     = "lkeplan.dev/revision"
		applied = "Applied revision: main@sha1:1"
		created = applied + "\n1 to create"
		back    = "NodePool web: spec.weight"
	)
	conflict := func(revision string) outcome {
		o := stalled(lkeplanv1alpha1.ReasonConflict, "web is held by another").outcome
		o.revision = revision
		return o
	}
	waits := func(text string) outcome {
		o := done(lkeplanv1alpha1.ReasonOutsideWindow, "%s", text)
		o.revision, o.inProgress, o.waitUntil = "main@sha1:7", true, time.Unix(1, 0)
		return o
	}
	first := outcome{
		reason: lkeplanv1alpha1.ReasonSucceeded, message: applied, event: created, emitEvent: true,
		revision: "main@sha1:1", origin: "sha1:0",
	}
	again := first
	again.emitEvent = false
	correcting := first
	correcting.corrected = back
	refused := stalled(lkeplanv1alpha1.ReasonGuarded, "it waits").changed(true)
	refused.revision, refused.origin = "main@sha1:3", "sha1:2"
	gone := failed(lkeplanv1alpha1.ReasonArtifactFailed, "it is gone").outcome
	blocked := outcome{
		reason: lkeplanv1alpha1.ReasonPlanned, message: "a plan", event: "the whole plan",
		refused: lkeplanv1alpha1.ReasonGuarded, revision: "main@sha1:4",
	}

	commit := map[string]string{rev: "main@sha1:1", origin: "sha1:0"}
	status := map[string]string{rev: "main@sha1:1", origin: "sha1:0", "lkeplan.dev/commit_status": "update"}
	done := []notice{
		{"Normal", "ReconciliationSucceeded", created, commit},
		{"Normal", "ReconciliationSucceeded", applied, status},
	}
	tests := []struct {
		name string
		then outcome
		want []notice
	}{
		{"the first revision", first, done},
		{"the same again", again, nil},
		{"the same again, with a field set back", correcting,
			append([]notice{{"Normal", "DriftCorrected", back, nil}}, done...)},
		{"a failure without a revision", gone, []notice{{"Warning", "ArtifactFailed", "it is gone", map[string]string{}}}},
		{"the same failure", gone, nil},
		{"a refusal", refused, []notice{
			{"Warning", "ApprovalPending", "it waits", map[string]string{rev: "main@sha1:3", origin: "sha1:2"}},
		}},
		{"the same refusal", refused, nil},
		{"done again", first, done},
		{"a plan that could not be applied", blocked.changed(true), []notice{
			{"Warning", "ApprovalPending", "the whole plan", map[string]string{rev: "main@sha1:4"}},
		}},
		{"the same plan", blocked, nil},
		{"a conflict", conflict("main@sha1:5"), []notice{
			{"Warning", "Conflict", "web is held by another", map[string]string{rev: "main@sha1:5"}},
		}},
		{"the same conflict of another commit", conflict("main@sha1:6"), []notice{
			{"Warning", "Conflict", "web is held by another", map[string]string{rev: "main@sha1:6"}},
		}},
		{"the same conflict", conflict("main@sha1:6"), nil},
		{"a change that waits for its window", waits("it waits until 20:00"), []notice{
			{"Normal", "Progressing", "it waits until 20:00", map[string]string{rev: "main@sha1:7"}},
		}},
		{"another window", waits("it waits until 21:00"), nil},
	}
	np := &lkeplanv1alpha1.NodePlan{}
	for _, tt := range tests {
		before := np.DeepCopy()
		setConditions(np, tt.then)
		np.Status.LastAttemptedRevision = std.Or(tt.then.revision, np.Status.LastAttemptedRevision)
		was := lastReport{conditions.Get(before, meta.ReadyCondition), before.Status.LastAttemptedRevision}
		got := eventsOf(was, conditions.Get(np, meta.ReadyCondition), tt.then)
		for _, n := range got {
			delete(n.metadata, tokenKey) // a time
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(notice{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		log := &recorder{}
		if (&Reconciler{EventRecorder: log}).publish(logr.Discard(), np, before, tt.then); len(log.messages) != len(got) {
			t.Errorf("%s: published %q, want %d events", tt.name, log.messages, len(got))
		}
	}
}

func TestRepeatedEventAfterOppositeHasNewToken(t *testing.T) {
	for _, at := range []string{"2026-11-20T08:00:00Z", "2026-11-20T08:01:00Z"} {
		moment, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		ready := &metav1.Condition{Status: "True", LastTransitionTime: metav1.NewTime(moment)}
		for _, n := range eventsOf(lastReport{}, ready, done(lkeplanv1alpha1.ReasonSucceeded, "Applied").changed(true)) {
			if n.metadata[tokenKey] != at {
				t.Errorf("the token is %q, want %q", n.metadata[tokenKey], at)
			}
		}
	}
}
