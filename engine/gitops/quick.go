package gitops

import (
	"context"
	"os"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/gitops/sight"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Memory has what NodePlans were last brought to, so that the same revision is not
// fetched and compiled again as long as nothing differs from it.
type Memory struct {
	mu    sync.Mutex
	plans map[client.ObjectKey]remembered
}

type remembered struct {
	uid        types.UID
	generation int64
	revision   string
	vars       []config.Var
	head, base compile.Result
}

// keep remembers what a NodePlan was brought to, or forgets it for nil.
func (m *Memory) keep(np *lkeplanv1alpha1.NodePlan, r *remembered) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans == nil {
		m.plans = map[client.ObjectKey]remembered{}
	}
	if delete(m.plans, client.ObjectKeyFromObject(np)); r != nil {
		m.plans[client.ObjectKeyFromObject(np)] = *r
	}
}

// recall returns what a NodePlan was brought to, if that was by this revision and with
// this spec.
func (m *Memory) recall(np *lkeplanv1alpha1.NodePlan, revision string) (remembered, bool) {
	if m == nil {
		return remembered{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.plans[client.ObjectKeyFromObject(np)]
	return r, ok && r.uid == np.UID && r.generation == np.Generation && r.revision == revision &&
		np.Status.LastAppliedRevision == revision
}

// nothingToDo reports whether a revision that was applied with the same variables is still
// what the cluster has, and then returns the outcome. What there is to do takes the files:
// others decide it.
func (w *Worker) nothingToDo(ctx context.Context, rev *revision) (outcome, bool) {
	known, ok := w.Memory.recall(rev.np, rev.Revision)
	if !ok || rev.planOnly() {
		return outcome{}, false
	}
	vars, err := w.Vars(ctx, rev.np)
	if err != nil || !slices.Equal(vars.Vars, known.vars) || !w.recordIsThere(ctx, rev.np) {
		return outcome{}, false
	}
	quick := *rev
	quick.target, quick.head = target{rev.np, vars}, known.head
	quick.base.Result = known.base
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
	view := sight.New(quick.cluster, w.Cache, quick.head)
	return vars.mask(rev.np, outcomeOf(w.ready(ctx, &quick, view))), true
}

// recordIsThere reports whether the record of what was last applied is as it should be:
// otherwise it is made anew.
func (w *Worker) recordIsThere(ctx context.Context, np *lkeplanv1alpha1.NodePlan) bool {
	dir, err := os.MkdirTemp(w.Scratch, "nodeplan-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	last, err := w.Records.Load(ctx, np, dir)
	return err == nil && last.Known()
}
