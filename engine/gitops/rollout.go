package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// startRollout applies a revision to a first wave of nodes, if spec.rollout is set and the plan
// creates nodes. The first revision, and one for which the last applied revision is unknown,
// cannot be rolled back: they are applied as a whole, the latter after an approval. The rollout
// and the existing nodes are recorded in the status before anything is applied.
func (w *Worker) startRollout(ctx context.Context, rev *revision, p judged) (o outcome, proves bool, err error) {
	np := rev.np
	unknown := rev.base.first || rev.base.lastAppliedError != "" || rev.base.request.Root == rev.files
	if np.Spec.Rollout == nil || unknown || rev.proven() {
		return o, false, nil
	}
	terms, now := rollout.TermsOf(*np.Spec.Rollout), w.Now().UTC()
	m, err := w.measure(ctx, rev, rev.head)
	if err != nil {
		return o, false, err
	}
	head, err := compare.Applied(rev.base.Objects, rev.head.Objects)
	if err != nil {
		return o, false, failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the previous revision: %v", rev.Revision, err)
	}
	declared, err := plan.Diff(ctx, plan.State{Objects: rev.base.Objects}, plan.State{Objects: head})
	if err != nil {
		return o, false, failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the previous revision: %v", rev.Revision, err)
	}
	first, whole := rollout.Change{Declared: declared, Live: p.Plan,
		Outdated: rollout.OutdatedNodes(m.Counts(), np.Status.Rollout)}.Wave(terms)
	if len(first) == 0 {
		return o, false, nil
	}
	if err := refuseShared(rev, p.Plan, first); err != nil {
		return o, true, err
	}
	digest, err := rev.digest()
	if err != nil {
		return o, false, err
	}
	was, err := w.measure(ctx, rev, rev.base.Result)
	if err != nil {
		return o, false, err
	}
	s := rollout.Begin(*np.Spec.Rollout, first, whole, digest, now)
	s.Revision, s.Retried = rev.Revision, retryRequest(np)
	if err := w.proofs().Identify(ctx, s, rev.head.Objects, m, was); err != nil {
		return o, false, failed(lkeplanv1alpha1.ReasonApplyFailed, "list the nodes of revision %s: %v", rev.Revision, err)
	}
	rollout.CarryOverNewNodes(s, np.Status.Rollout, m.Outdated)
	given := rev.rolloutApproval()
	intent := func() { s.Approval, np.Status.Rollout = cmp.Or(rev.usedApproval, given), s }
	if err := w.recordBeforeApply(ctx, rev, p, intent); err != nil {
		return o, false, err
	}
	return w.startProving(ctx, rev, s)
}

// refuseShared refuses a revision that changes a node class of its first wave if pools that it does not declare use the
// class as well: a wave holds only pools of the revision, so all nodes of the others would be replaced at once.
func refuseShared(rev *revision, p plan.Plan, first []lkeplanv1alpha1.RolloutPool) error {
	classes := map[string]bool{}
	for _, c := range p.Changes {
		if slices.ContainsFunc(first, func(f lkeplanv1alpha1.RolloutPool) bool { return f.Name == c.Name }) && !c.Outside {
			for _, class := range c.Because {
				classes[class] = true
			}
		}
	}
	for _, c := range p.Changes {
		none := c.Impact != nil && c.Impact.Known && c.Impact.Rolled == 0
		for _, class := range c.Because {
			if c.Outside && c.Effect == plan.Roll && !none && classes[class] {
				return stalled(lkeplanv1alpha1.ReasonHeld, "revision %s is not applied: it changes %s, which %s uses as well, and a "+
					"first wave cannot hold the nodes of a pool that the source does not declare. Give the pools of the source a "+
					"class of their own, or remove spec.rollout to replace all nodes within the budgets of their pools.",
					rev.Revision, class, c.Addr)
			}
		}
	}
	return nil
}

// refuseRelease refuses to remove the budget of a first wave from pools that are no longer managed, which would replace
// the nodes that it holds.
func refuseRelease(np *lkeplanv1alpha1.NodePlan, what string, pools []string) error {
	if np.Spec.Rollout == nil || len(pools) == 0 {
		return nil
	}
	revision := np.Status.LastAttemptedRevision
	if s := np.Status.Rollout; s != nil {
		revision = s.Revision
	}
	return stalled(lkeplanv1alpha1.ReasonHeld, "%s during the rollout of revision %s. Removing the budget of the first wave "+
		"from %s would replace all of their nodes. To allow that, remove spec.rollout; otherwise revert their templates first.",
		what, revision, strings.Join(pools, ", "))
}

// startProving applies the budgets of the first wave before anything else of a revision, and
// then evaluates the first wave.
func (w *Worker) startProving(
	ctx context.Context, rev *revision, s *lkeplanv1alpha1.RolloutStatus,
) (o outcome, over bool, err error) {
	limited, err := rollout.StageOf(s, rev.head.Objects, rev.base.Objects).FirstWaveBudgets()
	if err != nil {
		return o, true, stalled(lkeplanv1alpha1.ReasonApplyFailed, "revision %s is not applied: %v", rev.Revision, err)
	}
	if _, err := w.applyPart(ctx, rev, limited, s); err != nil {
		return o, true, err
	}
	s.Phase = lkeplanv1alpha1.PhaseProving
	return w.evaluateWave(ctx, rev, s)
}

// continueRollout continues the rollout of a revision. If over is true, the reconciliation ends
// here, because the first wave has not succeeded. In the mode PlanOnly the rollout stays
// unchanged.
func (w *Worker) continueRollout(ctx context.Context, rev *revision) (o outcome, over bool, err error) {
	np := rev.np
	if np.Spec.Rollout == nil || rev.planOnly() {
		return o, false, nil
	}
	s := np.Status.Rollout
	if rollout.UnderWay(s) && s.Revision == rev.Revision && rev.base.lastAppliedError != "" {
		return o, true, stalled(lkeplanv1alpha1.ReasonHeld, "revision %s is held: the previous revision is unknown. "+
			"%s\nCommit a correction, or revert the revision; either change waits for approval.",
			rev.Revision, rev.base.lastAppliedError)
	}
	digest, err := rev.digest()
	if err != nil || !rollout.SameRevision(s, rev.Revision, digest) || rollout.UnderWay(s) && rev.restarts(s) {
		return o, false, err
	}
	switch s.Phase {
	case lkeplanv1alpha1.PhasePlanned:
		return w.startProving(ctx, rev, s)
	case lkeplanv1alpha1.PhaseProving:
		return w.evaluateWave(ctx, rev, s)
	case lkeplanv1alpha1.PhaseHeld, lkeplanv1alpha1.PhaseRolledBack:
		o, err = w.holdRevision(ctx, rev, s)
		return o, true, err
	}
	return o, false, nil
}

// restarts reports whether a rollout has to start again: spec.rollout has changed, or the annotation
// reconcile.fluxcd.io/forceAt requests it.
func (r *revision) restarts(s *lkeplanv1alpha1.RolloutStatus) bool {
	asked := retryRequest(r.np)
	return s.Terms != "" && !rollout.SameTerms(s, *r.np.Spec.Rollout) || asked != "" && asked != s.Retried
}

// retryRequest returns the value of the annotation reconcile.fluxcd.io/forceAt if it requests a retry, by Flux's rules;
// else "".
func retryRequest(np *lkeplanv1alpha1.NodePlan) string {
	asked, _ := meta.ReconcileAnnotationValue(np.Annotations)
	if force := np.Annotations[meta.ForceRequestAnnotation]; force == asked {
		return force
	}
	return ""
}

// measure compares the nodes of the cluster with a configuration.
func (w *Worker) measure(ctx context.Context, rev *revision, of compile.Result) (compare.Measured, error) {
	m, err := compare.Against(ctx, newView(rev.cluster, w.Cache, rev.head), of, w.Prices(), w.Now().UTC())
	if err != nil {
		return m, failed(lkeplanv1alpha1.ReasonApplyFailed, "count the nodes of revision %s: %v", rev.Revision, err)
	}
	return m, nil
}

func (w *Worker) proofs() proofReader { return proofReader{Cache: w.Cache, Live: w.Reader} }

// evaluateWave evaluates the first wave, and applies as much of the revision as the result allows.
func (w *Worker) evaluateWave(ctx context.Context, rev *revision, s *lkeplanv1alpha1.RolloutStatus) (outcome, bool, error) {
	terms := rollout.TermsOf(*rev.np.Spec.Rollout)
	m, err := w.measure(ctx, rev, rev.head)
	if err != nil {
		return outcome{}, true, err
	}
	pools, err := w.proofs().Wave(ctx, s, m)
	if err != nil {
		err = failed(lkeplanv1alpha1.ReasonApplyFailed, "check the first wave of revision %s: %v", rev.Revision, err)
		return outcome{}, true, err
	}
	rollout.Observe(s, pools, w.Now())
	d := rollout.Decide(terms, s.Whole, s.Ran.Duration, pools)
	rollout.RestartExcused(s, d)
	s.Message = strings.Join(d.Words, "\n")
	switch d.Step {
	case rollout.Proven:
		s.Phase = lkeplanv1alpha1.PhaseProven
		return outcome{}, false, nil
	case rollout.Failed:
		s.Phase = lkeplanv1alpha1.PhaseHeld
		if terms.Rollback {
			s.Phase = lkeplanv1alpha1.PhaseRolledBack
		}
		if err := rev.record(ctx); err != nil {
			s.Phase = lkeplanv1alpha1.PhaseProving
			err = failed(lkeplanv1alpha1.ReasonApplyFailed, "record that revision %s has failed: %v", rev.Revision, err)
			return outcome{}, true, err
		}
		o, err := w.holdRevision(ctx, rev, s)
		return o, true, err
	}
	objects, err := rollout.StageOf(s, rev.head.Objects, rev.base.Objects).Objects(d.Room)
	if err != nil {
		err = stalled(lkeplanv1alpha1.ReasonApplyFailed, "revision %s is not applied: %v", rev.Revision, err)
		return outcome{}, true, err
	}
	p, err := w.applyPart(ctx, rev, objects, s)
	o := done(lkeplanv1alpha1.ReasonProving, "testing revision %s on a first wave of nodes in %s before applying the rest",
		rev.Revision, rollout.PoolNames(s)).noting(append(d.Words, p.stays...))
	o.inProgress, o.requeueAfter, o.corrected = true, d.RequeueAfter, correctionsText(p.Plan, p.ours)
	return o, true, err
}

// holdRevision stops a revision that has failed, or rolls it back to the previous revision.
func (w *Worker) holdRevision(ctx context.Context, rev *revision, s *lkeplanv1alpha1.RolloutStatus) (outcome, error) {
	const advice = "\n%s\nCommit a correction, or revert the revision. To retry it, change spec.rollout, or set the " +
		"annotations " + meta.ReconcileRequestAnnotation + " and " + meta.ForceRequestAnnotation + " to the same new value. " +
		"To apply it anyway, remove spec.rollout."
	stage := rollout.StageOf(s, rev.head.Objects, rev.base.Objects)
	objects, err := stage.Objects(nil)
	o := stalled(lkeplanv1alpha1.ReasonHeld, "revision %s is held: only its first wave, "+
		"%s, is applied."+advice, rev.Revision, rollout.PoolNames(s), s.Message)
	if s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		o = stalled(lkeplanv1alpha1.ReasonRolledBack, "revision %s is rolled back to %s."+advice, rev.Revision,
			rev.np.Status.LastAppliedRevision, s.Message)
		seen := false // right after the rollback, Karpenter cannot have seen it
		if conditions.GetReason(rev.np, meta.ReadyCondition) == lkeplanv1alpha1.ReasonRolledBack {
			var was compare.Measured
			if was, err = w.measure(ctx, rev, rev.base.Result); err == nil {
				seen, err = w.proofs().SeenByKarpenter(ctx, s, was)
			}
		}
		if err == nil {
			objects, err = stage.PreviousObjects(seen)
		}
		if !seen {
			o.requeueAfter = 5 * time.Second
		}
	}
	if err != nil {
		return o, err
	}
	p, err := w.applyPart(ctx, rev, objects, s)
	o = o.noting(p.stays)
	o.corrected = correctionsText(p.Plan, p.ours)
	return o, err
}

// applyPart applies objects that need no further approval: those of the first wave, because the
// guards have evaluated the whole revision, or those of the previous revision. All other
// objects stay unchanged, except for pools that are draining already, and those that a rollback
// removes. Manual edits of objects that the revision does not change are reverted only if that
// replaces no nodes, because no guard has evaluated such a replacement.
func (w *Worker) applyPart(
	ctx context.Context, rev *revision, objects []config.Object, s *lkeplanv1alpha1.RolloutStatus,
) (judged, error) {
	part := *rev
	part.head.Objects, part.head.Removed = objects, nil
	if s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		part.cause = cmp.Or(rev.np.Status.LastAppliedOriginRevision, rev.np.Status.LastAppliedRevision)
	}
	declared := plan.ByKey(rev.base.Objects)
	part.deletes = func(o config.Object) bool {
		_, condemned := plan.ReadRemoval(o.Manifest)
		_, stays := declared[o.Key()]
		return condemned || s.Phase == lkeplanv1alpha1.PhaseRolledBack && !stays && slices.ContainsFunc(s.Pools,
			func(p lkeplanv1alpha1.RolloutPool) bool { return p.Name == o.Name() && o.Kind() == "NodePool" })
	}
	p, err := w.compare(ctx, &part)
	if err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the cluster: %v", rev.Revision, err)
	}
	rev.np.Status.Contested = p.contested
	if err := refuseForeign(p.Plan, p.ownership); err != nil {
		return p, err
	}
	p.keepUnchanged(rollout.NotEvaluated(rev.base.Objects, rev.head.Objects, p.Plan))
	if _, err := w.applyPlan(ctx, &part, p); err != nil {
		return p, err
	}
	pools, err := w.pools(ctx, &part, p.Plan)
	if err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "list the nodes of revision %s: %v", rev.Revision, err)
	}
	rev.np.Status.Pools = append(pools, removalStatuses(p.Plan)...)
	return p, nil
}

// keepUnchanged removes objects from what is applied, and reports that they stay unchanged.
func (p *judged) keepUnchanged(keys map[manifest.Key]bool) {
	p.Targets = slices.DeleteFunc(p.Targets, func(t compare.Target) bool { return keys[manifest.KeyOf(t.Desired)] })
	p.Plan.Drift = slices.DeleteFunc(p.Plan.Drift, func(d plan.Drift) bool { return keys[d.Key()] })
	for key := range keys {
		p.stays = append(p.stays, fmt.Sprintf("The manual edit of %s stays until the next revision: "+
			"reverting it would replace nodes.", key))
	}
	slices.Sort(p.stays)
}

// proven reports whether the first wave has succeeded, so that the rest of the revision can be applied.
func (r *revision) proven() bool {
	s := r.np.Status.Rollout
	digest, err := r.digest()
	return err == nil && rollout.SameRevision(s, r.Revision, digest) &&
		(s.Phase == lkeplanv1alpha1.PhaseProven || s.Phase == lkeplanv1alpha1.PhaseApplied)
}

// finishRollout records that all of the revision is applied from now on, and with which approval.
func (r *revision) finishRollout() {
	switch s := r.np.Status.Rollout; {
	case s == nil, s.Phase == lkeplanv1alpha1.PhaseApplied: // keep the last rollout
	case r.np.Spec.Rollout != nil && r.proven():
		r.usedApproval = cmp.Or(r.usedApproval, s.Approval)
		s.Phase, s.Approval = lkeplanv1alpha1.PhaseApplied, nil
	default:
		r.np.Status.Rollout = nil
	}
}

// digest identifies the objects of a revision and of the previous one. It changes with variables only if they
// change an object.
func (r *revision) digest() (string, error) {
	return rollout.Digest(slices.Concat(r.head.Objects, r.base.Objects))
}

// approval returns the approval that can lift guards, with the digest of the plan that it must match. The approval
// with which a rollout started also covers the rest of the revision.
func (r *revision) approval(digest string) (*lkeplanv1alpha1.Approval, string) {
	given := r.target.Status.Approval
	if carried := r.rolloutApproval(); given == nil && !r.planOnly() && carried != nil {
		given, digest = carried, carried.PlanDigest
	}
	return given, digest
}

// rolloutApproval returns the approval with which the rollout started and that is not used up; nil if there is
// none. The retry of a revision that was held or rolled back needs another approval.
func (r *revision) rolloutApproval() *lkeplanv1alpha1.Approval {
	s := r.np.Status.Rollout
	digest, err := r.digest()
	if err != nil || r.np.Spec.Rollout == nil || !rollout.SameRevision(s, r.Revision, digest) ||
		s.Phase == lkeplanv1alpha1.PhaseHeld || s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		return nil
	}
	return s.Approval
}
