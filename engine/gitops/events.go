package gitops

import (
	"cmp"
	"maps"
	"strings"
	"time"

	event "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// The metadata of events that notification-controller reads.
const (
	revisionKey = lkeplanv1alpha1.Group + "/revision" // sets the status of its commit
	// originRevisionKey is the commit that an artifact was made from.
	originRevisionKey = lkeplanv1alpha1.Group + "/originRevision"
	// tokenKey distinguishes events with the same text. notification-controller drops an event
	// that it has sent in the last minutes, even if the opposite was sent in between.
	tokenKey = lkeplanv1alpha1.Group + "/token"
	// commitStatusKey is on events that only set the status of a commit.
	commitStatusKey = lkeplanv1alpha1.Group + "/" + event.MetaCommitStatusKey
)

// maxEvent is the maximum length of an event's message that notification-controller accepts, in
// bytes.
const maxEvent = 39_000

// notice is an event about a NodePlan.
type notice struct {
	kind            string // EventTypeNormal or EventTypeWarning of package corev1
	reason, message string
	metadata        map[string]string
}

// publish publishes the events of an outcome, and logs each once. The conditions of np already
// contain the outcome; before is the NodePlan without it.
func (r *Reconciler) publish(log logr.Logger, np, before *lkeplanv1alpha1.NodePlan, o outcome) {
	was := lastReport{conditions.Get(before, meta.ReadyCondition), before.Status.LastAttemptedRevision}
	for _, n := range eventsOf(was, conditions.Get(np, meta.ReadyCondition), o) {
		r.AnnotatedEventf(np, n.metadata, n.kind, n.reason, "%s", n.message)
		if n.metadata[commitStatusKey] == "" { // an event for the commit status repeats another one
			first, _, _ := strings.Cut(n.message, "\n")
			log.Info("nodeplan reconciled", "reason", n.reason, "type", n.kind, "revision", o.revision, "message", first)
		}
	}
}

// lastReport is what a NodePlan has reported last: the condition Ready, which is nil for a new NodePlan, and the
// revision.
type lastReport struct {
	ready    *metav1.Condition
	revision string
}

// eventsOf returns the events of an outcome; was is the last report of the NodePlan, is the present
// condition Ready. A finished revision gets two events: notification-controller sends an event that
// sets a commit status only to the Git provider. It drops the second of two events with the same
// text.
func eventsOf(was lastReport, is *metav1.Condition, o outcome) (all []notice) {
	if o.corrected != "" {
		all = append(all, notice{
			kind: corev1.EventTypeNormal, reason: lkeplanv1alpha1.ReasonDriftCorrected,
			message: diag.Shorten(o.corrected, maxEvent),
		})
	}
	if !isNews(was, o) {
		return all
	}
	n := notice{
		kind: corev1.EventTypeNormal, reason: cmp.Or(o.refused, o.reason),
		message:  diag.Shorten(cmp.Or(o.event, o.message), maxEvent),
		metadata: map[string]string{tokenKey: is.LastTransitionTime.UTC().Format(time.RFC3339)},
	}
	// This needs the revision, because the event sets the status of its commit.
	if o.revision != "" {
		n.metadata[revisionKey] = o.revision
	}
	if o.origin != "" {
		n.metadata[originRevisionKey] = o.origin
	}
	if o.warns() { // a warning also sets the status of the commit
		n.kind = corev1.EventTypeWarning
		return append(all, n)
	}
	if o.pending() { // the status of the commit stays
		n.reason = meta.ProgressingReason
		return append(all, n)
	}
	status := n
	status.message, status.metadata = diag.Shorten(o.message, maxEvent), maps.Clone(n.metadata)
	status.metadata[commitStatusKey] = event.MetaCommitStatusUpdateValue
	return append(all, n, status)
}

// isNews reports whether an outcome differs from the last report. The outcome of another
// revision always does, because its commit waits for a status.
func isNews(last lastReport, o outcome) bool {
	was := last.ready
	if was == nil || o.revision != "" && o.revision != last.revision {
		return true
	}
	repeated := was.Reason == o.reason &&
		(o.reason == lkeplanv1alpha1.ReasonPruning || o.pending() || was.Message == diag.Shorten(o.message, maxMessage))
	if repeated && (!o.emitEvent || o.stalled) {
		return false
	}
	return o.emitEvent || o.inProgress || o.warns() || was.Status != metav1.ConditionTrue
}
