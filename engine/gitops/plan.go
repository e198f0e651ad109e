package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// judged is a plan that the guards and policies have evaluated, together with the NodePlan's
// objects in the cluster at that time.
type judged struct {
	compare.Comparison
	ownership
	digest   string
	labelled []map[string]any   // objects with the NodePlan's label
	applied  nodeplan.Inventory // objects that the NodePlan has applied
	stays    []string           // which objects are kept although they left the source, and why
}

// plan plans a revision and evaluates the guards. It fails if even an approval must not allow the
// plan.
func (w *Worker) plan(ctx context.Context, rev *revision) (p judged, err error) {
	p, err = w.compare(ctx, rev)
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

// compare compares a revision with the cluster, without the fields that others may set.
func (w *Worker) compare(ctx context.Context, rev *revision) (judged, error) {
	view, left := newView(rev.cluster, w.Cache, rev.head), w.leftovers(rev)
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
		Turn:   w.Turn,
		By:     manifest.RolledBy{NodePlan: client.ObjectKeyFromObject(rev.np).String(), Name: rev.cause},
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
func (w *Worker) judge(ctx context.Context, rev *revision, p *judged) (err error) {
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
	if rev.base.PolicyCount == 0 {
		return nil
	}
	req := rev.base.request
	if req.Plan, err = compile.PlanJSON(p.Plan); err != nil {
		return err
	}
	req.Nulls = compile.NullReasons(p.Plan)
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
