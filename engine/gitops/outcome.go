package gitops

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// outcome is how a reconciliation has ended. It is done, or goes on by itself, or it
// is stalled until somebody changes something, or it has failed and is tried again
// soon. The last two are errors, by which a step ends a reconciliation early.
type outcome struct {
	reason  string // of the condition Ready
	message string

	inProgress   bool          // it takes its time, and nobody has to do anything
	waitUntil    time.Time     // what it waits for; zero where that is not known
	requeueAfter time.Duration // when to look again; 0 where the intervals say
	stalled      bool
	failed       bool
	emitEvent    bool // something has changed, and an event says so

	// The revision, and the commit that it was made from; "" where no revision was
	// found.
	revision, origin string
	current          bool // the source was up to date

	approval  *lkeplanv1alpha1.Approval // that was used up; nil where there was none
	refused   string                    // the reason why a plan that is only shown could not be applied; "" where it could
	corrected string                    // the fields that others had set and that were set back
	event     string                    // the message of the event, which differs from message; "" where they are the same
}

// Error implements error, for outcomes that are stalled or failed.
func (o outcome) Error() string { return o.message }

// pending reports whether nobody knows yet how it ends: it proves itself, or waits for a window.
func (o outcome) pending() bool {
	return o.reason == lkeplanv1alpha1.ReasonProving || o.opening() != nil
}

// warns reports whether an event about the outcome is a warning.
func (o outcome) warns() bool { return o.stalled || o.failed || o.refused != "" }

// failureMessage says why the NodePlan is not ready and will not be by itself; "" for others.
func (o outcome) failureMessage() string {
	if o.stalled || o.failed {
		return o.message
	}
	return ""
}

// outcomeOf returns the outcome of a step, or of the error that ended it early.
func outcomeOf(o outcome, err error) outcome {
	if err == nil {
		return o
	}
	return endedBy(err, lkeplanv1alpha1.ReasonApplyFailed)
}

// endedBy returns the outcome that an error is, or a failure with a reason.
func endedBy(err error, reason string) outcome {
	if early, ok := errors.AsType[outcome](err); ok {
		return early
	}
	return failed(reason, "%v", err)
}

func done(reason, format string, args ...any) outcome {
	return outcome{reason: reason, message: fmt.Sprintf(format, args...)}
}

func stalled(reason, format string, args ...any) outcome {
	return outcome{reason: reason, message: fmt.Sprintf(format, args...), stalled: true}
}

func failed(reason, format string, args ...any) outcome {
	return outcome{reason: reason, message: fmt.Sprintf(format, args...), failed: true}
}

// changed returns the outcome with a note that it is news.
func (o outcome) changed(news bool) outcome {
	o.emitEvent = o.emitEvent || news
	return o
}

// mostNoted bounds how many lines a message notes.
const mostNoted = 10

// noting returns the outcome with lines at the end of its message.
func (o outcome) noting(lines []string) outcome {
	for i, line := range lines {
		if i == mostNoted {
			o.message += fmt.Sprintf("\nAnd so do %d more.", len(lines)-i)
			break
		}
		o.message += "\n" + line
	}
	return o
}

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 20_000

// settle writes the outcome into the conditions, as kstatus reads them: Ready
// where it is done, Stalled where only a change helps, and Reconciling where it goes on
// or is tried again. Healthy stays what it was last found to be, where the NodePlan
// waits for its objects.
func settle(plan *lkeplanv1alpha1.NodePlan, o outcome) {
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

// unhealthy are the reasons that say that objects are not as they should be.
var unhealthy = []string{
	lkeplanv1alpha1.ReasonHealthCheckFailed, lkeplanv1alpha1.ReasonHeld, lkeplanv1alpha1.ReasonRolledBack,
}

// maxHistory is how many revisions the history of a NodePlan has.
const maxHistory = 5

// remember puts the attempted revision at the head of the history, or moves it
// there. What it was approved with stays with it, also if the last try did not end.
func remember(np *lkeplanv1alpha1.NodePlan, o outcome, now time.Time) {
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
	np.Status.History = append([]lkeplanv1alpha1.HistoryEntry{entry}, others[:min(len(others), maxHistory-1)]...)
}
