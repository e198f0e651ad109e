package gitops

import (
	"context"
	"fmt"
	"slices"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// judged is a plan that the guards and policies have judged, with what the
// cluster had of the NodePlan's objects when it was made.
type judged struct {
	compare.Comparison
	digest   string
	ours     owned
	deleting []map[string]any // of ours, those that are deleted already
}

// plan works out what a revision changes, and has the guards judge it. It fails
// where a plan must not even be approved.
func (w *Worker) plan(ctx context.Context, rev *revision) (judged, error) {
	p, err := w.compare(ctx, rev)
	if err != nil {
		return p, failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the cluster: %v", rev.Revision, err)
	}
	if !rev.planOnly() { // a NodePlan that only plans shows the conflicts
		if err := refuseForeign(p.Plan, p.ours); err != nil {
			return p, err
		}
		if err := w.refuseMoved(rev.np, p.Plan); err != nil {
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

// compare works out the plan, without the fields that others may set.
func (w *Worker) compare(ctx context.Context, rev *revision) (judged, error) {
	spec, view := rev.target.Spec, w.view(rev)
	found, err := compare.Live(ctx, rev.head, view, compare.LiveOptions{
		Base: rev.base.Result, Prices: w.Prices, Now: w.Now(),
		Prune:  spec.Prune == nil || *spec.Prune,
		Ignore: ignored(spec.DriftIgnore),
	})
	ours, deleting := view.found()
	return judged{Comparison: found, ours: ours, deleting: deleting}, err
}

// judge asks the guards in the source that was last applied, those of the
// NodePlan, and the policies. How many objects there are the cluster says: a
// status may have been lost, and may list objects that are gone since.
func (w *Worker) judge(ctx context.Context, rev *revision, p *judged) error {
	verdicts, err := p.Plan.Judge(plan.Bounds{
		Guards: stricter(rev.base.Guards, rev.target.Spec.Guards, p.Plan.Nodes),
		Before: len(p.ours) - len(p.deleting), After: len(rev.head.Objects),
	})
	if err != nil {
		return err
	}
	p.Plan.Verdicts = slices.Concat(verdicts, rev.base.refuseUnknown(*p), rev.base.refuseRelease(p.Plan, w.Version))
	if rev.base.PolicyCount == 0 {
		return nil
	}
	req := rev.base.request
	if req.Plan, err = compile.PlanJSON(p.Plan); err != nil {
		return err
	}
	answer, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		return fmt.Errorf("ask the policies that were last applied: %w", err)
	}
	p.Plan.Verdicts = append(p.Plan.Verdicts, answer.Verdicts...)
	return nil
}

// stricter joins the guards of the source with those of the NodePlan, for a
// cluster with a number of nodes.
func stricter(source config.Guards, more *lkeplanv1alpha1.PlanGuards, nodes int) config.Guards {
	if more == nil {
		return source
	}
	source.Protected = append(slices.Clone(source.Protected), more.Protected...)
	if more.MaxDeletedPools != nil {
		source.MaxDeletedPools = min(source.MaxDeletedPools, *more.MaxDeletedPools)
	}
	source.MaxDeletedNodes = plan.StricterShare(source.MaxDeletedNodes, more.MaxDeletedNodes, nodes)
	source.MaxRolledNodes = plan.StricterShare(source.MaxRolledNodes, more.MaxRolledNodes, nodes)
	return source
}
