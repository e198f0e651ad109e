package gitops

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/trace"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// traces creates traces of revisions: of their reconciliations, of the times in between in which a
// NodePlan waits, and of the nodes that are replaced afterwards. A nil pointer creates none.
type traces struct {
	sink  trace.Sink
	cache client.Reader

	mu      sync.Mutex
	rolling map[client.ObjectKey]roll
}

// newTraces returns traces for a sink, with a reader of NodeClaims; nil without a sink.
func newTraces(sink trace.Sink, cache client.Reader) *traces {
	if sink == nil {
		return nil
	}
	return &traces{sink: sink, cache: cache, rolling: map[client.ObjectKey]roll{}}
}

// roll is a revision whose nodes are being replaced. No status contains when that started.
type roll struct {
	revision string
	since    time.Time
}

// Begin starts the trace of a reconciliation. Its steps are in the context.
func (t *traces) Begin(ctx context.Context) (context.Context, *trace.Work) {
	if t == nil {
		return ctx, nil
	}
	return trace.Begin(ctx, trace.Reconcile)
}

// End ends the trace of a reconciliation; before is the NodePlan before it. Reconciliations without
// an event are not shown, because there is one in each interval.
func (t *traces) End(
	ctx context.Context, work *trace.Work, before, np *lkeplanv1alpha1.NodePlan, o outcome, event bool,
) {
	if t == nil {
		return
	}
	t.proven(before, np)
	var err error
	if text := o.failureMessage(); text != "" {
		err = errors.New(text)
	}
	span := work.End(err, nodePlanAttribute(np), attribute(trace.UID, string(np.UID)), attribute(trace.Revision, o.revision),
		attribute(trace.Origin, o.origin), attribute(trace.Reason, o.reason))
	id := trace.ID{}
	if o.revision != "" {
		id = trace.OfRevision(string(np.UID), o.revision)
	}
	if event {
		t.pending(id, before, np, span.From)
		t.sink.Take(id, span)
	}
	if applied := np.Status.LastAppliedRevision; applied != before.Status.LastAppliedRevision {
		t.mu.Lock()
		if delete(t.rolling, client.ObjectKeyFromObject(np)); outdated(np) > 0 {
			t.rolling[client.ObjectKeyFromObject(np)] = roll{applied, span.From}
		}
		t.mu.Unlock()
	}
	t.Counted(ctx, np)
}

// pending shows what the NodePlan waited for between the last reconciliation with an event about the
// revision and this one.
func (t *traces) pending(id trace.ID, before, np *lkeplanv1alpha1.NodePlan, until time.Time) {
	was := conditions.Get(before, meta.ReadyCondition)
	if was == nil || was.Status == metav1.ConditionTrue || was.Reason == lkeplanv1alpha1.ReasonProving ||
		id == (trace.ID{}) || before.Status.LastAttemptedRevision != np.Status.LastAttemptedRevision {
		return
	}
	t.sink.Take(id, trace.Span{
		Name: trace.Pending, From: was.LastTransitionTime.Time, To: until,
		Attributes: []trace.Attribute{nodePlanAttribute(np), attribute(trace.Reason, was.Reason)},
	})
}

// proven shows how long the first wave of a revision took, after it has ended.
func (t *traces) proven(before, np *lkeplanv1alpha1.NodePlan) {
	was, is := before.Status.Rollout, np.Status.Rollout
	if was == nil || is == nil || was.Phase != lkeplanv1alpha1.PhaseProving || is.Phase == was.Phase ||
		was.Revision != is.Revision {
		return
	}
	span := trace.Span{
		Name: trace.Prove, From: is.Since.Time, To: time.Now(),
		Attributes: []trace.Attribute{nodePlanAttribute(np), attribute(trace.Phase, is.Phase)},
	}
	if is.Phase != lkeplanv1alpha1.PhaseProven && is.Phase != lkeplanv1alpha1.PhaseApplied {
		span.Error = trace.Shorten(is.Message)
	}
	t.sink.Take(trace.OfRevision(string(np.UID), is.Revision), span)
}

// Counted shows how long the replacement of a revision's nodes took, when no node is outdated any
// more.
func (t *traces) Counted(ctx context.Context, np *lkeplanv1alpha1.NodePlan) {
	if t == nil || outdated(np) > 0 {
		return
	}
	t.mu.Lock()
	r, rolled := t.rolling[client.ObjectKeyFromObject(np)]
	if rolled = rolled && r.revision == np.Status.LastAppliedRevision; rolled { // otherwise the status is older
		delete(t.rolling, client.ObjectKeyFromObject(np))
	}
	t.mu.Unlock()
	if !rolled {
		return
	}
	t.sink.Take(trace.OfRevision(string(np.UID), r.revision), trace.Span{
		Name: trace.Roll, From: r.since, To: time.Now(), Attributes: []trace.Attribute{nodePlanAttribute(np)},
		Links: t.claims(ctx, np, r.since),
	})
}

// mostLinks is the maximum number of links that OpenTelemetry allows in a span.
const mostLinks = 128

// claims are links to the NodeClaims that were created for the pools of a NodePlan since then.
func (t *traces) claims(ctx context.Context, np *lkeplanv1alpha1.NodePlan, since time.Time) (links []trace.Link) {
	var list karpv1.NodeClaimList
	if err := t.cache.List(ctx, &list); err != nil {
		return nil // the cache is not synced yet
	}
	for _, claim := range list.Items {
		of := claim.Labels[karpv1.NodePoolLabelKey]
		ours := slices.ContainsFunc(np.Status.Pools, func(p lkeplanv1alpha1.PoolStatus) bool { return p.Name == of })
		if ours && len(links) < mostLinks && !claim.CreationTimestamp.Time.Before(since.Truncate(time.Second)) {
			links = append(links, trace.Link{
				To: trace.OfClaim(string(claim.UID)), Attributes: []trace.Attribute{attribute(trace.NodeClaim, claim.Name)},
			})
		}
	}
	return links
}

func outdated(np *lkeplanv1alpha1.NodePlan) int {
	if np.Status.Outdated == nil {
		return 0
	}
	return *np.Status.Outdated
}

func nodePlanAttribute(np *lkeplanv1alpha1.NodePlan) trace.Attribute {
	return attribute(trace.NodePlan, client.ObjectKeyFromObject(np).String())
}

func attribute(key, value string) trace.Attribute { return trace.Attribute{Key: key, Value: value} }
