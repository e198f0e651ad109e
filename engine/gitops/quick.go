package gitops

import (
	"context"
	"os"
	"slices"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nothingToDo reports whether the cluster still matches a revision that was applied with the same
// variables, and returns the outcome in that case. If there is something to do, the caller fetches
// and plans the revision.
func (w *Worker) nothingToDo(ctx context.Context, rev *revision) (outcome, bool) {
	known, ok := w.Memory.Recall(rev.np, rev.Revision)
	if !ok || rev.planOnly() {
		return outcome{}, false
	}
	vars, err := w.Vars(ctx, rev.np)
	if err != nil || !slices.Equal(vars.Vars, known.Vars) || !w.recordIsThere(ctx, rev.np) {
		return outcome{}, false
	}
	quick := *rev
	quick.target, quick.head = target{rev.np, vars}, known.Head
	quick.base.Result = known.Base
	if quick.cluster, err = w.Connect(rev.np); err != nil {
		return outcome{}, false
	}
	p, err := w.compare(ctx, &quick)
	if err != nil || !p.Plan.Empty() || len(p.refused)+len(p.stays)+len(p.Condemned) > 0 {
		return outcome{}, false
	}
	if err := w.takeInventory(ctx, &quick, p, false); err != nil {
		return outcome{}, false
	}
	rev.np.Status.Contested = nil
	writePlan(rev.np, p.Plan, rev.Revision, "")
	view := newView(quick.cluster, w.Cache, quick.head)
	o := vars.mask(rev.np, outcomeOf(w.ready(ctx, &quick, view)))
	o.unchanged = true
	return o, true
}

// recordIsThere reports whether the record of what was last applied is intact. Otherwise the
// reconciliation creates it again.
func (w *Worker) recordIsThere(ctx context.Context, np *lkeplanv1alpha1.NodePlan) bool {
	dir, err := os.MkdirTemp(w.Scratch, "nodeplan-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	last, err := w.Records.Load(ctx, np, dir)
	return err == nil && last.Known()
}
