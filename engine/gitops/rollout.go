package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	stops "github.com/lkeplan/lkeplan/engine/stop"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// startRollout applies a revision to a first wave of nodes, if spec.rollout is set and the plan
// creates nodes. The first revision, and one for which the last applied revision is unknown,
// cannot be rolled back: they are applied as a whole, the latter after an approval. The rollout
// and the existing nodes are recorded in the status before anything is applied.
func (w *Worker) startRollout(ctx context.Context, rev *candidate, p *judged) (o outcome, proves bool, err error) {
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
	if err := refuseShared(rev.revision, p.Plan, first); err != nil {
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
	intent := func() { s.Approval, np.Status.Rollout = cmp.Or(p.approval, given), s }
	if err := w.recordBeforeApply(ctx, rev, p, intent); err != nil {
		return o, false, err
	}
	return w.startProving(ctx, rev, s)
}

// refuseShared refuses a revision that changes a node class of its first wave if pools that it does not declare use the
// class as well: a wave holds only pools of the revision, so all nodes of the others would be replaced at once.
func refuseShared(rev revision, p plan.Plan, first []lkeplanv1alpha1.RolloutPool) error {
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
	ctx context.Context, rev *candidate, s *lkeplanv1alpha1.RolloutStatus,
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
func (w *Worker) continueRollout(ctx context.Context, rev *candidate) (o outcome, over bool, err error) {
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
	if o, waits, err := w.pauseRollout(ctx, rev, s); waits || err != nil {
		return o, true, err
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

// pauseRollout makes a first wave wait while disruption is stopped: no more of the revision is applied, and no time counts.
func (w *Worker) pauseRollout(ctx context.Context, rev *candidate, s *lkeplanv1alpha1.RolloutStatus) (o outcome, waits bool, err error) {
	stopped := stops.Read(ctx, w.Cache, w.Now())
	switch {
	case s.Phase != lkeplanv1alpha1.PhasePlanned && s.Phase != lkeplanv1alpha1.PhaseProving, !stopped.Stopped():
		return o, false, nil
	case stopped.Err != nil:
		return o, true, failed(lkeplanv1alpha1.ReasonApplyFailed, "continue the rollout of revision %s: %v", rev.Revision, stopped.Err)
	}
	news := s.Looked != nil
	rollout.Pause(s)
	o = done(lkeplanv1alpha1.ReasonProving, "revision %s waits with its first wave of nodes in %s: disruption is %s",
		rev.Revision, rollout.PoolNames(s), stopped).changed(news)
	o.inProgress, o.waitUntil = true, stopped.Until()
	return o, true, nil
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
func (w *Worker) measure(ctx context.Context, rev *candidate, of compile.Result) (compare.Measured, error) {
	m, err := compare.Against(ctx, newView(rev.cluster, w.Cache, rev.head), of, w.Prices(), w.Now().UTC())
	if err != nil {
		return m, failed(lkeplanv1alpha1.ReasonApplyFailed, "count the nodes of revision %s: %v", rev.Revision, err)
	}
	return m, nil
}

func (w *Worker) proofs() proofReader { return proofReader{Cache: w.Cache, Live: w.Reader} }

// evaluateWave evaluates the first wave, and applies as much of the revision as the result allows.
func (w *Worker) evaluateWave(ctx context.Context, rev *candidate, s *lkeplanv1alpha1.RolloutStatus) (outcome, bool, error) {
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
func (w *Worker) holdRevision(ctx context.Context, rev *candidate, s *lkeplanv1alpha1.RolloutStatus) (outcome, error) {
	const advice = "\n%s\nCommit a correction, or revert the revision. To retry it, change spec.rollout, or set the " +
		"annotations " + meta.ReconcileRequestAnnotation + " and " + meta.ForceRequestAnnotation + " to the same new value. " +
		"To apply it anyway, remove spec.rollout."
	stage := rollout.StageOf(s, rev.head.Objects, rev.base.Objects)
	objects, err := stage.Objects(nil)
	o := stalled(lkeplanv1alpha1.ReasonHeld, "revision %s is held: only its first wave, "+
		"%s, is applied."+advice, rev.Revision, rollout.PoolNames(s), s.Message).outcome
	if s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		o = stalled(lkeplanv1alpha1.ReasonRolledBack, "revision %s is rolled back to %s."+advice, rev.Revision,
			rev.np.Status.LastAppliedRevision, s.Message).outcome
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
	ctx context.Context, rev *candidate, objects []config.Object, s *lkeplanv1alpha1.RolloutStatus,
) (judged, error) {
	part := *rev
	part.head.Objects, part.head.Removed = objects, nil
	if s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		part.cause = cmp.Or(rev.np.Status.LastAppliedOriginRevision, rev.np.Status.LastAppliedRevision)
	}
	declared := plan.ByKey(rev.base.Objects)
	deletes := func(o config.Object) bool {
		_, condemned := plan.ReadRemoval(o.Manifest)
		_, stays := declared[o.Key()]
		return condemned || s.Phase == lkeplanv1alpha1.PhaseRolledBack && !stays && slices.ContainsFunc(s.Pools,
			func(p lkeplanv1alpha1.RolloutPool) bool { return p.Name == o.Name() && o.Kind() == "NodePool" })
	}
	p, err := w.compare(ctx, &part, deletes)
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
func (r *candidate) proven() bool {
	s := r.np.Status.Rollout
	digest, err := r.digest()
	return err == nil && rollout.SameRevision(s, r.Revision, digest) &&
		(s.Phase == lkeplanv1alpha1.PhaseProven || s.Phase == lkeplanv1alpha1.PhaseApplied)
}

// finishRollout records that all of the revision is applied from now on. It returns the approval of the plan, or else the one
// with which the rollout started.
func (r *candidate) finishRollout(used *lkeplanv1alpha1.Approval) *lkeplanv1alpha1.Approval {
	switch s := r.np.Status.Rollout; {
	case s == nil, s.Phase == lkeplanv1alpha1.PhaseApplied: // keep the last rollout
	case r.np.Spec.Rollout != nil && r.proven():
		used = cmp.Or(used, s.Approval)
		s.Phase, s.Approval = lkeplanv1alpha1.PhaseApplied, nil
	default:
		r.np.Status.Rollout = nil
	}
	return used
}

// digest identifies the objects of a revision and of the previous one. It changes with variables only if they
// change an object.
func (r *candidate) digest() (string, error) {
	return rollout.Digest(slices.Concat(r.head.Objects, r.base.Objects))
}

// approval returns the approval that can lift guards, with the digest of the plan that it must match. The approval
// with which a rollout started also covers the rest of the revision.
func (r *candidate) approval(digest string) (*lkeplanv1alpha1.Approval, string) {
	given := r.target.Status.Approval
	if carried := r.rolloutApproval(); given == nil && !r.planOnly() && carried != nil {
		given, digest = carried, carried.PlanDigest
	}
	return given, digest
}

// rolloutApproval returns the approval with which the rollout started and that is not used up; nil if there is
// none. The retry of a revision that was held or rolled back needs another approval.
func (r *candidate) rolloutApproval() *lkeplanv1alpha1.Approval {
	s := r.np.Status.Rollout
	digest, err := r.digest()
	if err != nil || r.np.Spec.Rollout == nil || !rollout.SameRevision(s, r.Revision, digest) ||
		s.Phase == lkeplanv1alpha1.PhaseHeld || s.Phase == lkeplanv1alpha1.PhaseRolledBack {
		return nil
	}
	return s.Approval
}

// proofReader reads the state of a first wave from a cluster: its nodes, and events about missing nodes. Package
// rollout decides what follows from it.
type proofReader struct {
	Cache client.Reader // of NodePools, NodeClaims and nodes
	Live  client.Reader // of events, which are not cached
}

// Identify records the initial state of a rollout: the hashes that new nodes of its pools will have, and the
// NodeClaims that already match head. m compares the nodes with head, was with the previous revision.
func (r proofReader) Identify(
	ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, head []config.Object, m, was compare.Measured,
) error {
	read, err := clusters.Cached(ctx, r.Cache, &karpv1.NodeClaimList{}, &karpv1.NodePoolList{})
	if err != nil {
		return err
	}
	at := map[string]*lkeplanv1alpha1.RolloutPool{}
	for i := range s.Pools {
		at[s.Pools[i].Name] = &s.Pools[i]
	}
	for _, o := range head {
		if p := at[o.Name()]; p != nil && o.Kind() == schemas.Pool.Object.Kind {
			if p.Hash, err = plan.TemplateHash(o.Defaulted); err != nil {
				return fmt.Errorf("read %s: %w", o.Addr, err)
			}
		}
	}
	for _, claim := range read.Claims {
		if p := at[claim.Labels[karpv1.NodePoolLabelKey]]; p != nil && !m.Outdated[claim.Name] {
			p.Earlier = append(p.Earlier, claim.Name)
		}
		if isDrifted(claim) && !was.Outdated[claim.Name] {
			s.Drifted = append(s.Drifted, claim.Name)
		}
	}
	for _, pool := range read.Pools {
		if p := at[pool.Name]; p != nil {
			if c := unhealthyPool(pool); c != nil {
				p.Unhealthy = &c.LastTransitionTime
			}
		}
	}
	return nil
}

// Wave returns the current state of the pools of a rollout, in their order. m tells which nodes
// match the revision.
func (r proofReader) Wave(
	ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, m compare.Measured,
) ([]rollout.Pool, error) {
	read, err := clusters.Cached(ctx, r.Cache, &karpv1.NodeClaimList{}, &corev1.NodeList{}, &karpv1.NodePoolList{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the first wave: %w", err)
	}
	wave, at := make([]rollout.Pool, len(s.Pools)), map[string]*rollout.Pool{}
	known := map[string]lkeplanv1alpha1.RolloutPool{}
	for i, p := range s.Pools {
		wave[i] = rollout.Pool{Name: p.Name}
		at[p.Name], known[p.Name] = &wave[i], p
	}
	byName := make(map[string]*corev1.Node, len(read.Nodes))
	for _, node := range read.Nodes {
		byName[node.Name] = node
	}
	for _, claim := range read.Claims {
		p := at[claim.Labels[karpv1.NodePoolLabelKey]]
		if p != nil && !m.Outdated[claim.Name] && isNew(claim, known[p.Name]) {
			p.New = append(p.New, rolloutNode(claim, byName[claim.Status.NodeName]))
		}
	}
	recordHolds(at, m)
	if err := r.readEvents(ctx, at, clusterTime(read.Nodes)); err != nil {
		return nil, err
	}
	for _, pool := range read.Pools {
		if p := at[pool.Name]; p != nil {
			before := known[p.Name].Unhealthy
			if c := unhealthyPool(pool); c != nil && !c.LastTransitionTime.Equal(before) {
				p.Unhealthy = c.Message
			}
			if ready := pool.StatusConditions().Root(); ready.IsFalse() {
				p.Blocked = "the NodePool is not ready: " + ready.Message
			}
		}
	}
	return wave, nil
}

// isNew reports whether a NodeClaim was created for the wave of a pool: it carries the hash of its
// template, and did not exist before.
func isNew(claim *karpv1.NodeClaim, p lkeplanv1alpha1.RolloutPool) bool {
	return claim.DeletionTimestamp.IsZero() &&
		claim.Annotations[karpv1.NodePoolHashAnnotationKey] == p.Hash &&
		claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion &&
		!slices.Contains(p.Earlier, claim.Name)
}

// clusterTime returns the latest time that a kubelet has written. The clock of this process may differ.
func clusterTime(machines []*corev1.Node) (now time.Time) {
	for _, machine := range machines {
		for _, c := range machine.Status.Conditions {
			if c.LastHeartbeatTime.After(now) {
				now = c.LastHeartbeatTime.Time
			}
		}
	}
	return now
}

// SeenByKarpenter reports whether Karpenter has seen a rollback: no node that matches the previous revision is
// marked as drifted, except for those that were marked before the rollout. Until then, Karpenter would replace such
// a node. m compares the nodes with the previous revision.
func (r proofReader) SeenByKarpenter(ctx context.Context, s *lkeplanv1alpha1.RolloutStatus, m compare.Measured) (bool, error) {
	var claims karpv1.NodeClaimList
	if err := r.Cache.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list drifted nodes: %w", err)
	}
	own := func(pool string) bool {
		return slices.ContainsFunc(m.Rolling, func(r plan.Rolling) bool { return r.Pool == pool })
	}
	return !slices.ContainsFunc(claims.Items, func(c karpv1.NodeClaim) bool {
		return isDrifted(&c) && !slices.Contains(s.Drifted, c.Name) && !m.Outdated[c.Name] &&
			c.DeletionTimestamp.IsZero() && own(c.Labels[karpv1.NodePoolLabelKey])
	}), nil
}

// isDrifted reports whether a node is marked as drifted because of a change, and not because of its age or of Linode.
func isDrifted(claim *karpv1.NodeClaim) bool {
	c := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted)
	return c.IsTrue() && !nodeclaim.DoneOutside(c.Reason)
}

// rolloutNode returns the progress of a NodeClaim; node is nil if it has not joined.
func rolloutNode(claim *karpv1.NodeClaim, node *corev1.Node) rollout.Node {
	n := rollout.Node{Name: claim.Name, State: clusters.ProgressOf(claim, node)}
	if n.State == clusters.NodeReady {
		n.Since = laterTime(nodeutils.GetCondition(node, corev1.NodeReady).LastTransitionTime,
			claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).LastTransitionTime)
	}
	return n
}

func laterTime(a, b metav1.Time) time.Time {
	if a.After(b.Time) {
		return a.Time
	}
	return b.Time
}

// unhealthyPool returns the condition NodeRegistrationHealthy of a pool if it is false; else nil.
func unhealthyPool(pool *karpv1.NodePool) *status.Condition {
	if c := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy); c.IsFalse() {
		return c
	}
	return nil
}

// recordHolds records for each pool what blocks the replacement of its outdated nodes: its budgets, limits and
// PodDisruptionBudgets.
func recordHolds(at map[string]*rollout.Pool, m compare.Measured) {
	for _, n := range m.Nodes {
		if p := at[n.Pool]; p != nil && m.Outdated[n.Name] && len(n.Holds) > 0 {
			p.Held++
		}
	}
	for _, r := range m.Rolling {
		p := at[r.Pool]
		if p == nil {
			continue
		}
		p.Outdated = r.Outdated
		for _, h := range r.Holds {
			if h.Reason == plan.NoRoom {
				p.Held = r.Outdated
			}
		}
		if r.Pace != nil && len(r.Pace.Closed) > 0 {
			p.Held = r.Outdated
		}
		if p.Held > 0 {
			state, held := r.Progress(diag.OneLine)
			p.Hold = strings.Join(append([]string{state}, held...), "; ")
		}
	}
}

// remembered is how long an event about missing capacity counts. Package lke does not offer a plan type without
// capacity for some minutes, in which Karpenter does not request it again.
const remembered = 10 * time.Minute

// The reasons of events about NodeClaims by which Karpenter and packages lke and instance report missing machines.
const (
	noCapacity      = "InsufficientCapacity"
	notLaunched     = "InsufficientCapacityError"
	clusterFull     = "ClusterFull"
	accountLimit    = "LinodeAccountLimit"
	badToken        = "LinodeTokenRefused"
	refusedCapacity = "LKERefused"
	notDisrupted    = "DisruptionBlocked"
)

// readEvents reads the events about NodeClaims of the pools of a wave. now is the time of the
// cluster; if it is zero, all events count.
func (r proofReader) readEvents(ctx context.Context, at map[string]*rollout.Pool, now time.Time) error {
	// Events about objects without a namespace are in this namespace.
	var list corev1.EventList
	err := r.Live.List(ctx, &list, client.InNamespace(metav1.NamespaceDefault),
		client.MatchingFields{"involvedObject.kind": "NodeClaim"})
	if err != nil {
		return fmt.Errorf("list events of NodeClaims: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int {
		return clusters.LastSeen(&a).Compare(clusters.LastSeen(&b))
	})
	for _, e := range list.Items {
		p := at[poolOfClaim(e.InvolvedObject.Name)]
		if p == nil {
			continue
		}
		text := strings.TrimSpace(e.Message)
		switch e.Reason {
		case noCapacity, notLaunched, clusterFull, accountLimit, badToken:
			if now.Sub(clusters.LastSeen(&e)) < remembered {
				p.NoStock = text
			}
		case refusedCapacity: // only of a NodeClaim of this revision
			if slices.ContainsFunc(p.New, func(n rollout.Node) bool { return n.Name == e.InvolvedObject.Name }) {
				p.Refused = text
			}
		case notDisrupted:
			p.Blocked = text
		}
	}
	return nil
}

// poolOfClaim returns the pool of a NodeClaim that may be gone. Karpenter derives the name of a NodeClaim from that of
// its pool.
func poolOfClaim(claim string) string {
	i := strings.LastIndexByte(claim, '-')
	return claim[:max(i, 0)]
}
