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
	// tokenKey distinguishes events of the same text: notification-controller drops
	// one that it has sent minutes ago, though the opposite has come in between.
	tokenKey = lkeplanv1alpha1.Group + "/token"
	// commitStatusKey is on events that only set the status of a commit.
	commitStatusKey = lkeplanv1alpha1.Group + "/" + event.MetaCommitStatusKey
)

// maxEvent is how long the message of an event may be, in bytes: what
// notification-controller accepts.
const maxEvent = 39_000

// notice is an event about a NodePlan.
type notice struct {
	kind            string // EventTypeNormal or EventTypeWarning of package corev1
	reason, message string
	metadata        map[string]string
}

// publish publishes the events that an outcome is worth, and logs each once. The outcome is
// settled in np; before is the NodePlan as it was before that. It reports whether there were
// any.
func (r *Reconciler) publish(log logr.Logger, np, before *lkeplanv1alpha1.NodePlan, o outcome) bool {
	was := said{conditions.Get(before, meta.ReadyCondition), before.Status.LastAttemptedRevision}
	all := notices(was, conditions.Get(np, meta.ReadyCondition), o)
	for _, n := range all {
		r.AnnotatedEventf(np, n.metadata, n.kind, n.reason, "%s", n.message)
		if n.metadata[commitStatusKey] == "" { // what sets the status of the commit says the same once more
			first, _, _ := strings.Cut(n.message, "\n")
			log.Info("nodeplan reconciled", "reason", n.reason, "type", n.kind, "revision", o.revision, "message", first)
		}
	}
	return len(all) > 0
}

// said is what a NodePlan said last: the condition Ready, which is nil for a new one, of
// a revision.
type said struct {
	ready    *metav1.Condition
	revision string
}

// notices returns the events that an outcome is worth, where a NodePlan said one thing, and
// the condition Ready is another now. What is done gets two events: notification-controller
// sends one that sets the status of a commit to nothing but the forge, and takes two of the
// same text for one.
func notices(was said, is *metav1.Condition, o outcome) (all []notice) {
	if o.corrected != "" {
		all = append(all, notice{
			kind: corev1.EventTypeNormal, reason: lkeplanv1alpha1.ReasonDriftCorrected,
			message: diag.Shorten(o.corrected, maxEvent),
		})
	}
	if !newsworthy(was, o) {
		return all
	}
	n := notice{
		kind: corev1.EventTypeNormal, reason: cmp.Or(o.refused, o.reason),
		message:  diag.Shorten(cmp.Or(o.event, o.message), maxEvent),
		metadata: map[string]string{tokenKey: is.LastTransitionTime.UTC().Format(time.RFC3339)},
	}
	// Of no other revision than this one: the status of its commit is set.
	if o.revision != "" {
		n.metadata[revisionKey] = o.revision
	}
	if o.origin != "" {
		n.metadata[originRevisionKey] = o.origin
	}
	if o.warns() { // a warning sets the status of the commit by itself
		n.kind = corev1.EventTypeWarning
		return append(all, n)
	}
	if o.pending() { // which leaves the status of the commit as it is
		n.reason = meta.ProgressingReason
		return append(all, n)
	}
	status := n
	status.message, status.metadata = diag.Shorten(o.message, maxEvent), maps.Clone(n.metadata)
	status.metadata[commitStatusKey] = event.MetaCommitStatusUpdateValue
	return append(all, n, status)
}

// newsworthy reports whether an outcome says something that was not said before. Of
// another revision everything is new: its commit waits for a status.
func newsworthy(last said, o outcome) bool {
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
