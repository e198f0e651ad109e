package gitops

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/trace"
	"github.com/lkeplan/lkeplan/engine/trace/tracetest"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// claims is a cluster with nothing but NodeClaims.
type claims struct {
	client.Reader
	items []karpv1.NodeClaim
}

func (c claims) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*karpv1.NodeClaimList).Items = slices.Clone(c.items)
	return nil
}

// claim is a NodeClaim of a pool that was made then.
func claim(name, pool string, made time.Time) karpv1.NodeClaim {
	return karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: pool},
		CreationTimestamp: metav1.NewTime(made.Truncate(time.Second)),
	}}
}

// TestTraceContainsReplacedNodes: from the reconciliation that applied the
// revision, regardless of which controller counts that none is outdated any more, and with the NodeClaims that took
// their place.
func TestTraceContainsReplacedNodes(t *testing.T) {
	now, sink := time.Now(), &tracetest.Sink{T: t}
	traces := newTraces(sink, claims{items: []karpv1.NodeClaim{
		claim("old", "web", now.Add(-time.Hour)), claim("new", "web", now), claim("other", "db", now),
	}})
	status := func(applied string, outdated int) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "a", UID: "uid"}}
		np.Status.LastAppliedRevision, np.Status.Outdated = applied, &outdated
		np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Name: "web"}}
		return np
	}
	pass := func(before, after *lkeplanv1alpha1.NodePlan) {
		ctx, work := traces.Begin(t.Context())
		traces.End(ctx, work, before, after, outcome{revision: after.Status.LastAppliedRevision}, false)
	}
	check := func(want string, ids ...trace.ID) {
		t.Helper()
		if got, taken := sink.Taken(); got != want || !slices.Equal(ids, taken) {
			t.Errorf("%s, want %s\n%s", got, want, cmp.Diff(ids, taken))
		}
	}
	const rolled = "nodeplan.roll nodeplan=fleet/a -> new"
	pass(status("", 0), status("1", 0)) // no node was outdated
	check("")
	pass(status("1", 0), status("2", 3))
	traces.Counted(t.Context(), status("2", 1))
	traces.Counted(t.Context(), status("1", 0)) // an older status
	check("")
	traces.Counted(t.Context(), status("2", 0))
	check(rolled, trace.OfRevision("uid", "2"))
	traces.Counted(t.Context(), status("2", 0))
	check("")
	pass(status("2", 0), status("3", 3))
	pass(status("3", 3), status("4", 1)) // the nodes of 3 are never all there
	pass(status("4", 1), status("4", 0))
	check(rolled, trace.OfRevision("uid", "4"))
	if len(traces.rolling) > 0 {
		t.Errorf("left: %v", traces.rolling)
	}
}

// TestTraceContainsRollout: as long as it took, and whether it did.
func TestTraceContainsRollout(t *testing.T) {
	const proving, revision = lkeplanv1alpha1.PhaseProving, "main@sha1:1"
	for phase, want := range map[string]string{
		lkeplanv1alpha1.PhaseProven:     "nodeplan.prove nodeplan=fleet/a phase=Proven",
		lkeplanv1alpha1.PhaseApplied:    "nodeplan.prove nodeplan=fleet/a phase=Applied",
		lkeplanv1alpha1.PhaseHeld:       "nodeplan.prove nodeplan=fleet/a phase=Held ! web: no node in time",
		lkeplanv1alpha1.PhaseRolledBack: "nodeplan.prove nodeplan=fleet/a phase=RolledBack ! web: no node in time",
		proving:                         "",
	} {
		sink := &tracetest.Sink{T: t}
		traces := newTraces(sink, claims{})
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "a"}}
		np.Status.Rollout = &lkeplanv1alpha1.RolloutStatus{
			Revision: revision, Phase: proving, Since: metav1.NewTime(time.Now().Add(-time.Minute)),
		}
		before := np.DeepCopy()
		np.Status.Rollout.Phase, np.Status.Rollout.Message = phase, "web: no node in time"
		ctx, work := traces.Begin(t.Context())
		traces.End(ctx, work, before, np, outcome{revision: revision}, false)
		if got, _ := sink.Taken(); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}
