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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	stops "github.com/lkeplan/lkeplan/engine/stop"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// judged is a plan that the guards and policies have evaluated, together with the NodePlan's
// objects in the cluster at that time.
type judged struct {
	compare.Comparison
	ownership
	digest   string
	approval *lkeplanv1alpha1.Approval // that was used up to apply the plan; nil if none
	labelled []map[string]any          // objects with the NodePlan's label
	applied  nodeplan.Inventory        // objects that the NodePlan has applied
	stays    []string                  // which objects are kept although they left the source, and why
}

// plan plans a revision and evaluates the guards. It fails if even an approval must not allow the
// plan.
func (w *Worker) plan(ctx context.Context, rev *candidate) (p judged, err error) {
	p, err = w.compare(ctx, rev, nil)
	if err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the cluster: %v", rev.Revision, err)
	}
	if !rev.planOnly() { // in the mode PlanOnly the plan shows the conflicts
		rev.np.Status.Contested = p.contested
		if err := refuseForeign(p.Plan, p.ownership); err != nil {
			return p, err
		}
	}
	if err := w.judge(ctx, rev, &p); err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	if p.digest, err = p.Plan.Digest(); err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	return p, nil
}

// compare compares a revision with the cluster, without the fields that others may set. If only a part of the revision
// is applied, part reports whether an object outside of it is deleted; nil means that the whole revision is applied.
func (w *Worker) compare(ctx context.Context, rev *candidate, part func(config.Object) bool) (judged, error) {
	view, left := newView(rev.cluster, w.Cache, rev.head), w.leftovers(rev, part)
	view.applied = left.inventory
	asking, cancel := context.WithTimeout(ctx, stepTimeout(rev.np)) // listing other owners may compile other NodePlans
	defer cancel()
	market := w.Prices()
	prices, err := compare.JudgedBy(rev.base.Result, rev.head, cmp.Or(rev.head.Catalog, market))
	if err != nil {
		return judged{}, err
	}
	found, err := compare.Live(ctx, rev.head, view, compare.LiveOptions{
		Base: rev.base.Result, Prices: prices, Market: market, Now: w.Now(), DryRun: rev.cluster.DryRun,
		Prune: left.prune, PruneNow: rev.deleting || rev.base.Guards.PruneNow,
		Ignore: nodeplan.Ignored(rev.target.Spec.DriftIgnore),
		Keeps:  func(o config.Object) bool { return left.keepsObject(asking, o) },
		Turn:   w.Turn, WithoutMoves: rev.withoutMoves,
		By: manifest.RolledBy{NodePlan: client.ObjectKeyFromObject(rev.np).String(), Name: rev.cause},
	})
	if err != nil {
		return judged{}, err
	}
	compare.NameCatalog(&found.Plan, rev.base.Result, rev.head)
	found.Plan.Waves = rev.target.Spec.Rollout != nil
	p := judged{Comparison: found, labelled: view.Found(), applied: left.inventory, stays: left.stays}
	p.ownership = w.ownershipOf(asking, rev, p, left.inventory)
	for i := range p.Plan.Changes { // taking over a released object is not a conflict
		if c := &p.Plan.Changes[i]; p.ours[c.Key()] {
			c.Conflicts = slices.DeleteFunc(c.Conflicts, func(c plan.Conflict) bool { return c.Holder != "" })
		}
	}
	return p, ctx.Err()
}

// judge evaluates the last applied guards, the guards of the NodePlan, and the policies. It counts
// objects in the cluster, because the status may be lost or may list objects that no longer exist.
func (w *Worker) judge(ctx context.Context, rev *candidate, p *judged) (err error) {
	bounds := plan.Bounds{
		Guards: nodeplan.Stricter(rev.base.Guards, rev.target.Spec.Guards, p.Plan.Nodes),
		Before: p.alive(), After: len(rev.head.Objects),
	}
	if rev.deleting { // deleting everything is the intention
		bounds.Before = 0
	}
	verdicts, err := p.Plan.Judge(bounds)
	if err != nil {
		return err
	}
	p.Plan.Verdicts = append(verdicts, rev.base.refuseUnknown(*p)...)
	switch s := stops.Read(ctx, w.Cache, w.Now()); {
	case s.Err != nil:
		return s.Err
	case s.Stopped():
		if err := p.Plan.Stop(s.Until(), s.String()); err != nil {
			return err
		}
	}
	if rev.base.PolicyCount == 0 {
		return nil
	}
	req := rev.base.request
	if req.Plan, err = p.Plan.PolicyJSON(); err != nil {
		return err
	}
	req.Nulls = p.Plan.NullReasons()
	answer, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		return fmt.Errorf("evaluate the last applied policies: %w", err)
	}
	p.Plan.Verdicts = append(p.Plan.Verdicts, answer.Verdicts...)
	return nil
}

// alive returns the number of objects with the NodePlan's label that are not being deleted.
func (p judged) alive() (n int) {
	for _, obj := range p.labelled {
		if !manifest.Deleted(obj) {
			n++
		}
	}
	return n
}

// refuseUnknown blocks a plan with changes if the last applied files are unknown or do not compile.
// Otherwise, losing these files would let a commit's own guards evaluate it. Objects that are kept
// although they carry the NodePlan's label count as changes: the NodePlan may have applied them.
func (c compiled) refuseUnknown(p judged) []plan.Verdict {
	why, strays := c.lastAppliedError, c.first && len(p.stays) > 0
	if strays || c.first && (p.touchesOurs() || p.touchesNodes()) {
		why = "There is no record of the last applied revision, but its objects are in the cluster."
	} else if outside := p.touchesOutside(); c.first && len(outside) > 0 {
		why = "This is the first revision, and it affects, or may affect, nodes of pools that it does not declare: " + strings.Join(outside, ", ") + "."
	}
	if why == "" || p.Plan.Empty() && !strays {
		return c.refuseLeft(p)
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The last applied guards are unknown, and the guards of this revision cannot replace them. " + why,
	}}
}

// refuseLeft blocks a plan that removes or replaces nodes because of existing pools, or other objects, that the last
// applied files do not declare. Either spec.prune was false when they left the source, or another NodePlan or a
// directory has released them. In both cases no guard has evaluated their nodes.
func (c compiled) refuseLeft(p judged) []plan.Verdict {
	declared := plan.ByKey(c.Objects)
	affects := map[string]bool{} // addresses of the objects because of which nodes are replaced
	for _, change := range p.Plan.Changes {
		if change.Kind == "NodePool" && affectsNodes(change) {
			affects[change.Addr] = true
			for _, addr := range change.Because {
				affects[addr] = true
			}
		}
	}
	var left []string
	for _, change := range p.Plan.Changes {
		_, condemned := plan.ReadRemoval(change.Old)
		_, declares := declared[change.Key()]
		if change.Old != nil && affects[change.Addr] && !change.Outside && !declares && !condemned {
			left = append(left, change.Addr)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The last applied files do not declare these objects, so their guards are unknown: " +
			strings.Join(left, ", ") + ".",
	}}
}

// affectsNodes reports whether nodes of a pool may be removed or replaced.
func affectsNodes(c plan.Change) bool {
	none := c.Impact != nil && c.Impact.Known && c.Impact.Of == 0
	return !none && (c.Prune == plan.StartRemoval || c.Effect != plan.None && c.Effect != plan.InPlace || c.Loosens)
}

// touchesOutside returns the pools that the plan does not declare and whose nodes it may remove or replace. Their
// guards belong to others.
func (p judged) touchesOutside() (pools []string) {
	for _, c := range p.Plan.Changes {
		if c.Outside && affectsNodes(c) {
			pools = append(pools, c.Addr)
		}
	}
	return pools
}

// touchesNodes reports whether a plan may remove or replace nodes of objects that were applied before, with other
// guards: by a NodePlan that was deleted since, from the command line, or by the NodePlan from which they are taken
// over.
func (p judged) touchesNodes() bool {
	applied := map[manifest.Key]bool{}
	for _, t := range p.Targets {
		applied[manifest.KeyOf(t.Desired)] = t.Live != nil && kube.Applied(t.Live)
	}
	return slices.ContainsFunc(p.Plan.Changes, func(c plan.Change) bool {
		return applied[c.Key()] && affectsNodes(c)
	})
}

// touchesOurs reports whether a plan changes or deletes objects that carry the NodePlan's label. The
// inventory in the status cannot be relied on here, because it may be lost as well.
func (p judged) touchesOurs() bool {
	labelled := map[manifest.Key]bool{}
	for _, obj := range p.labelled {
		labelled[manifest.KeyOf(obj)] = true
	}
	return slices.ContainsFunc(p.Plan.Changes, func(c plan.Change) bool {
		ours := p.ours[c.Key()] || labelled[c.Key()]
		return ours && !p.received[c.Key()] && (c.Action == plan.Update || c.Action == plan.Delete)
	})
}

// recordBeforeApply records in the status what is about to be done, before the first object is changed: it uses up
// the approval of the plan, and calls state for other changes of the status. It also records the files of a first
// revision, whose guards apply to the next one. If the status cannot be written, nothing is changed, and the
// approval stays for the next attempt.
func (w *Worker) recordBeforeApply(ctx context.Context, rev *candidate, p *judged, state func()) error {
	np, before := rev.np, rev.np.Status.DeepCopy()
	p.approval = plan.SpendApproval(np, p.digest)
	state()
	if rev.base.first && !rev.deleting {
		// Otherwise the objects of a first revision that fails half-way are those of an unknown configuration.
		var err error
		if np.Status.LastAppliedDigest, err = w.Records.Store(ctx, np, rev.read, rev.target.vars.Vars); err != nil {
			return failed(lkeplanv1alpha1.ReasonApplyFailed, "store the record of revision %s: %v", rev.Revision, err)
		}
	} else if p.approval == nil && equality.Semantic.DeepEqual(before.Rollout, np.Status.Rollout) {
		return nil
	}
	if p.approval != nil {
		addHistory(np, outcome{reason: meta.ProgressingReason, approval: p.approval}, w.Now())
	}
	if err := rev.record(ctx); err != nil {
		before.DeepCopyInto(&np.Status)
		p.approval = nil
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "revision %s is not applied: record it in the status: %v",
			rev.Revision, err)
	}
	return nil
}

// dropApproval removes the approval of the plan in the status if another revision replaces this plan: the approver decided
// about that revision, and a later one with the same plan may come at another time, or without the window that the approval
// was to wait for. An approval of a plan that was not in the status yet stays. It returns a sentence about the removal.
func dropApproval(np *lkeplanv1alpha1.NodePlan, revision, digest string) string {
	a, last := np.Status.Approval, np.Status.Plan
	if a == nil || last == nil || a.PlanDigest != last.Digest || last.Digest == digest || last.Revision == revision {
		return ""
	}
	np.Status.Approval = nil
	return fmt.Sprintf("The approval by %s is removed, because this revision replaces the approved plan.", a.By)
}

// joiningInterval is how often a plan is evaluated again while new nodes get their machines, and longestJoining how long
// it waits for them.
const (
	joiningInterval = 5 * time.Second
	longestJoining  = 5 * time.Minute
)

// awaitsMachines ends the reconciliation of a plan that guards refuse only because new nodes have no machine yet, so that it
// is unknown which nodes Karpenter moves. That needs no approval, unless it takes too long or one was asked for already.
func (w *Worker) awaitsMachines(ctx context.Context, rev *candidate, p judged) error {
	was, ready := rev.np.Status, conditions.Get(rev.np, meta.ReadyCondition)
	message := fmt.Sprintf("revision %s waits until the machines of new nodes exist: until then, it is unknown which nodes Karpenter moves "+
		"because of the revision", rev.Revision)
	began := w.Now()
	if ready != nil && ready.Reason == meta.ProgressingReason && ready.Message == message {
		began = ready.LastTransitionTime.Time
	}
	asked := was.Plan != nil && was.Plan.Revision == rev.Revision &&
		slices.ContainsFunc(was.Guards, func(g lkeplanv1alpha1.GuardStatus) bool { return g.Status == string(plan.Blocked) })
	if !p.Plan.Refused() || len(p.Plan.Joining) == 0 || asked || w.Now().Sub(began) >= longestJoining {
		return nil
	}
	still := *rev
	still.withoutMoves = true
	q, err := w.compare(ctx, &still, nil)
	if err == nil {
		err = w.judge(ctx, &still, &q)
	}
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	given, digest := rev.approval(p.digest)
	if plan.LiftByApproval(given, &q.Plan, digest, w.Now()); q.Plan.Refused() {
		return nil
	}
	o := done(meta.ProgressingReason, "%s", message)
	o.inProgress, o.waitUntil = true, w.Now().Add(joiningInterval)
	return stop{o}
}

// awaitsApproval ends the reconciliation of a plan that guards refuse.
func awaitsApproval(rev *candidate, p judged, why string) stop {
	message := fmt.Sprintf("revision %s waits for approval: %s", rev.Revision, explainBlocked(rev.np, p, why))
	if !rev.base.first && rev.base.lastAppliedError == "" { // else no earlier revision has the guards
		message += " Or lift the guard in an earlier revision."
	}
	return stop{stalled(lkeplanv1alpha1.ReasonGuarded, "%s", message).changed(true)}
}

// explainBlocked explains what blocks a plan and how to approve it. why explains why an existing approval
// does not match.
func explainBlocked(np *lkeplanv1alpha1.NodePlan, p judged, why string) string {
	if why != "" {
		why += "\n"
	}
	return fmt.Sprintf("%s\nPlan: %s\n%sTo approve it: lkeplan nodeplan approve -n %s %s (plan %s).",
		refusalMessages(p.Plan),
		summaryLine(p.Plan), why, np.Namespace, np.Name, p.digest)
}

// approvalText returns the part of an event that names the approval of a plan; "" if it needed none.
func approvalText(a *lkeplanv1alpha1.Approval) string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("\nApproved by %s: %s", a.By, strings.Join(a.Guards, ", "))
	if a.Reason != "" {
		text += "\n" + a.Reason
	}
	return text
}

// target is the NodePlan that a revision is planned for, with its variables.
type target struct {
	*lkeplanv1alpha1.NodePlan
	vars Variables
}

// targetOf finds the NodePlan that a revision is planned for: the one in planFor, or else np.
func (w *Worker) targetOf(ctx context.Context, np *lkeplanv1alpha1.NodePlan, own Variables) (target, error) {
	at, forAnother := nodeplan.PlannedFor(np)
	if !forAnother {
		return target{np, own}, nil
	}
	if w.SameNamespace && at.Namespace != np.Namespace {
		return target{}, stalled(lkeplanv1alpha1.ReasonAccessDenied,
			"planFor names NodePlan %s in another namespace, which this controller does not allow", at)
	}
	other := &lkeplanv1alpha1.NodePlan{}
	err := w.Cache.Get(ctx, at, other)
	switch {
	case apierrors.IsNotFound(err):
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "planFor names NodePlan %s, which does not exist", at)
	case err != nil:
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "get NodePlan %s: %v", at, err)
	}
	vars, err := w.Vars(ctx, other)
	if err != nil {
		return target{}, failed(lkeplanv1alpha1.ReasonDependency, "planFor names NodePlan %s: %v", at, err)
	}
	return target{other, vars}, nil
}

// planned returns the outcome in the mode PlanOnly. It has an event if the plan differs from the previous one.
func planned(rev revision, p judged, before *lkeplanv1alpha1.NodePlanStatus) (outcome, error) {
	o := plannedOutcome(p).changed(planDiffers(before, &rev.np.Status))
	var err error
	if o.event, err = planComment(rev.target.NodePlan, p.Plan, p.digest); err != nil {
		return o, failed(lkeplanv1alpha1.ReasonApplyFailed, "write the plan of revision %s: %v", rev.Revision, err)
	}
	return o, nil
}

// plannedOutcome returns an outcome that is ready even if guards or conflicts would stop the plan. The event is
// then a warning, which sets the status of the commit to failure.
func plannedOutcome(p judged) outcome {
	o := done(lkeplanv1alpha1.ReasonPlanned, "%s", summaryLine(p.Plan))
	if err := refuseForeign(p.Plan, p.ownership); err != nil {
		o.refused, o.message = lkeplanv1alpha1.ReasonConflict, o.message+"; currently, "+err.Error()
	}
	if p.Plan.Refused() {
		o.refused, o.message = lkeplanv1alpha1.ReasonGuarded, o.message+"; it would wait for approval: "+refusalMessages(p.Plan)
	}
	return o.noting(p.stays)
}

// planDiffers reports whether a plan, or a verdict on it, has changed.
func planDiffers(before, after *lkeplanv1alpha1.NodePlanStatus) bool {
	return before.Plan == nil || before.Plan.Digest != after.Plan.Digest || before.Plan.Revision != after.Plan.Revision ||
		!slices.Equal(before.Guards, after.Guards)
}
