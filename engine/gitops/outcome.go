package gitops

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// outcome is how a reconciliation has ended. Exactly one of three: it is done,
// it is stalled until somebody does something, or it is tried again soon. The
// last two are errors, by which a step ends the story early.
type outcome struct {
	reason  string
	message string
	// What it is about: the revision, and the commit that this was made from; ""
	// where no revision was found.
	revision, origin string

	stalled bool   // trying again helps nobody
	failed  bool   // and is tried again
	news    bool   // something has changed, and an event says so
	refused string // of a plan that is not to be applied: why it could not be, as a reason
	// corrected says what others had changed and was set back.
	corrected string
	event     string // what an event says in place of the message, and never the same; "" for the message
}

// Error implements error, for outcomes that are stalled or failed.
func (o outcome) Error() string { return o.message }

// outcomeOf is how a step has ended: as it says, or as its error does.
func outcomeOf(o outcome, err error) outcome {
	if err == nil {
		return o
	}
	if early, ok := errors.AsType[outcome](err); ok {
		return early
	}
	return failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
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

// changed notes that the outcome is worth an event.
func (o outcome) changed(news bool) outcome {
	o.news = o.news || news
	return o
}

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 20_000

// settle writes the outcome into the conditions, as kstatus reads them: Ready
// where it is done, Stalled where only a change helps, and Reconciling where it
// goes on. Healthy is what was last seen, where the NodePlan waits for it.
func settle(plan *lkeplanv1alpha1.NodePlan, o outcome) {
	message := shorten(o.message, maxMessage)
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
	default:
		conditions.Delete(plan, meta.StalledCondition)
		conditions.Delete(plan, meta.ReconcilingCondition)
		conditions.MarkTrue(plan, meta.ReadyCondition, o.reason, "%s", message)
	}
	switch {
	case !plan.Spec.Wait:
		conditions.Delete(plan, lkeplanv1alpha1.ConditionHealthy)
	case o.reason == lkeplanv1alpha1.ReasonSucceeded:
		conditions.MarkTrue(plan, lkeplanv1alpha1.ConditionHealthy, o.reason, "all objects are ready")
	case o.reason == lkeplanv1alpha1.ReasonHealthCheckFailed:
		conditions.MarkFalse(plan, lkeplanv1alpha1.ConditionHealthy, o.reason, "%s", message)
	}
}

// shorten cuts a text at the end of a line, or else of a word.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := text[:most-len("…")]
	if i := strings.LastIndexAny(cut, "\n "); i > most/2 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + "…"
}

// maxHistory is how many revisions a NodePlan remembers.
const maxHistory = 5

// remember puts a revision at the head of the history, or moves it there.
func remember(history []lkeplanv1alpha1.HistoryEntry, entry lkeplanv1alpha1.HistoryEntry) []lkeplanv1alpha1.HistoryEntry {
	kept := []lkeplanv1alpha1.HistoryEntry{entry}
	for _, h := range history {
		if (h.Revision != entry.Revision || h.Status != entry.Status || h.Digest != entry.Digest) && len(kept) < maxHistory {
			kept = append(kept, h)
		}
	}
	return kept
}

func entryOf(plan *lkeplanv1alpha1.NodePlan, reason, digest string, now time.Time) lkeplanv1alpha1.HistoryEntry {
	return lkeplanv1alpha1.HistoryEntry{Revision: plan.Status.LastAttemptedRevision, Time: metav1.NewTime(now.UTC().Truncate(time.Second)), Status: reason, Digest: digest}
}
