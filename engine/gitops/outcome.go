package gitops

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// outcome is the result of a reconciliation: done, in progress, stalled until a user changes something, or failed
// and retried soon.
type outcome struct {
	reason  string // of the condition Ready
	message string

	inProgress   bool          // it needs time, but no action of a user
	waitUntil    time.Time     // time at which it continues; zero if unknown
	requeueAfter time.Duration // time until the next check; 0 means the usual interval
	stalled      bool
	failed       bool
	emitEvent    bool // something has changed that an event must report
	unchanged    bool // the objects of the revision match it, and nothing was applied

	// The revision, and the commit that it was built from; "" if no revision was found.
	revision, origin string
	current          bool // the source was up to date

	approval  *lkeplanv1alpha1.Approval // the approval that was used up; nil if none
	refused   string                    // the reason why a plan in the mode PlanOnly could not be applied, or ""
	corrected string                    // the manual edits that were reverted
	event     string                    // message of the event; "" means the same as message
}

// stop is an error with which a step ends a reconciliation early.
type stop struct{ outcome }

func (s stop) Error() string { return s.message }

// pending reports whether the result of the revision is open: a rollout is in progress, or
// the plan waits for a window.
func (o outcome) pending() bool {
	return o.reason == lkeplanv1alpha1.ReasonProving || !o.waitUntil.IsZero()
}

// warns reports whether an event about the outcome is a warning.
func (o outcome) warns() bool { return o.stalled || o.failed || o.refused != "" }

// outcomeOf returns the outcome of a step, or of the error that ended it early.
func outcomeOf(o outcome, err error) outcome {
	if err == nil {
		return o
	}
	return endedBy(err, lkeplanv1alpha1.ReasonApplyFailed)
}

// endedBy returns the outcome in an error, or else a failure with the given reason.
func endedBy(err error, reason string) outcome {
	if early, ok := errors.AsType[stop](err); ok {
		return early.outcome
	}
	return failed(reason, "%v", err).outcome
}

func done(reason, format string, args ...any) outcome {
	return outcome{reason: reason, message: fmt.Sprintf(format, args...)}
}

func stalled(reason, format string, args ...any) stop {
	return stop{outcome{reason: reason, message: fmt.Sprintf(format, args...), stalled: true}}
}

func failed(reason, format string, args ...any) stop {
	return stop{outcome{reason: reason, message: fmt.Sprintf(format, args...), failed: true}}
}

// changed returns the outcome, with an event if there is news.
func (o outcome) changed(news bool) outcome {
	o.emitEvent = o.emitEvent || news
	return o
}

// mostNoted is the maximum number of lines that noting adds.
const mostNoted = 10

// noting returns the outcome with lines added to its message.
func (o outcome) noting(lines []string) outcome {
	for i, line := range lines {
		if i == mostNoted {
			o.message += fmt.Sprintf("\n%d more not shown.", len(lines)-i)
			break
		}
		o.message += "\n" + line
	}
	return o
}

// maxMessage is the maximum length of a condition's message, in bytes.
const maxMessage = 20_000

// setConditions writes the outcome into the conditions as kstatus defines them: Ready if it
// is done, Stalled if a user has to change something, and Reconciling if it is in progress
// or retried. If the NodePlan waits for its objects and their state is unknown, Healthy
// keeps its value.
func setConditions(plan *lkeplanv1alpha1.NodePlan, o outcome) {
	message := diag.Shorten(o.message, maxMessage)
	plan.Status.ObservedGeneration = plan.Generation
	switch {
	case o.stalled:
		conditions.Delete(plan, meta.ReconcilingCondition)
		conditions.MarkStalled(plan, o.reason, "%s", message)
		conditions.MarkFalse(plan, meta.ReadyCondition, o.reason, "%s", message)
	case o.failed:
		conditions.Delete(plan, meta.StalledCondition)
		conditions.MarkReconciling(plan, meta.ProgressingWithRetryReason, "%s", message)
		conditions.MarkFalse(plan, meta.ReadyCondition, o.reason, "%s", message)
	case o.inProgress:
		conditions.Delete(plan, meta.StalledCondition)
		conditions.MarkReconciling(plan, o.reason, "%s", message)
		conditions.MarkUnknown(plan, meta.ReadyCondition, o.reason, "%s", message)
	default:
		conditions.Delete(plan, meta.StalledCondition)
		conditions.Delete(plan, meta.ReconcilingCondition)
		conditions.MarkTrue(plan, meta.ReadyCondition, o.reason, "%s", message)
	}
	switch {
	case !plan.Spec.Wait:
		conditions.Delete(plan, lkeplanv1alpha1.ConditionHealthy)
	case o.reason == lkeplanv1alpha1.ReasonSucceeded, o.reason == lkeplanv1alpha1.ReasonPruning:
		conditions.MarkTrue(plan, lkeplanv1alpha1.ConditionHealthy, o.reason, "all objects are ready")
	case slices.Contains(unhealthy, o.reason):
		conditions.MarkFalse(plan, lkeplanv1alpha1.ConditionHealthy, o.reason, "%s", message)
	}
}

// unhealthy lists the reasons that mean that objects are not healthy.
var unhealthy = []string{
	lkeplanv1alpha1.ReasonHealthCheckFailed, lkeplanv1alpha1.ReasonHeld, lkeplanv1alpha1.ReasonRolledBack,
}

// maxHistory is the maximum length of a NodePlan's history.
const maxHistory = 5

// addHistory adds the attempted revision at the start of the history, or moves it there. The
// entry keeps its approval, even if the last attempt did not finish. Of too many entries, the oldest
// without an approval goes, because reverted edits would soon hide who has approved what.
func addHistory(np *lkeplanv1alpha1.NodePlan, o outcome, now time.Time) {
	if o.reason == meta.ProgressingReason && o.approval == nil {
		return // nothing is decided about the revision yet
	}
	entry := lkeplanv1alpha1.HistoryEntry{
		Revision: np.Status.LastAttemptedRevision, Status: o.reason, Approval: o.approval,
		Time: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	if np.Status.Plan != nil && np.Status.Plan.Revision == entry.Revision {
		entry.Digest = np.Status.Plan.Digest
	}
	others := slices.DeleteFunc(np.Status.History, func(h lkeplanv1alpha1.HistoryEntry) bool {
		again := h.Revision == entry.Revision && h.Digest == entry.Digest &&
			(h.Status == entry.Status || h.Status == meta.ProgressingReason)
		if again && entry.Approval == nil {
			entry.Approval = h.Approval
		}
		return again
	})
	for len(others) >= maxHistory {
		oldest := len(others) - 1 // if all have an approval
		for i, h := range others {
			if h.Approval == nil {
				oldest = i
			}
		}
		others = slices.Delete(others, oldest, oldest+1)
	}
	np.Status.History = append([]lkeplanv1alpha1.HistoryEntry{entry}, others...)
}

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
