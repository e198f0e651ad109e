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

// outcome is the result of a reconciliation: done, in progress, stalled until a user changes something, or failed
// and retried soon. A stalled or failed outcome is also an error, with which a step can end a reconciliation early.
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

// Error implements error for outcomes that are stalled or failed.
func (o outcome) Error() string { return o.message }

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
// entry keeps its approval, even if the last attempt did not finish.
func addHistory(np *lkeplanv1alpha1.NodePlan, o outcome, now time.Time) {
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
