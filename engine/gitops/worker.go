package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/task"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Worker does the work of a reconciliation. It changes only the status of the given
// NodePlan, the objects in its plan, and the record of what was last applied.
type Worker struct {
	Sources  Sources
	Compiler Compiler
	Connect  func(plan *lkeplanv1alpha1.NodePlan) (Cluster, error) // as the account that applies the plan
	Vars     func(ctx context.Context, plan *lkeplanv1alpha1.NodePlan) (Variables, error)
	Records  Records
	Cache    client.Reader  // of NodePlans, sources, nodes, NodeClaims, pods and their disruption budgets
	Reader   client.Reader  // of NodePlans, without a cache
	Cluster  string         // label of the LKE cluster
	Memory   *appliedMemory // nil means that every reconciliation fetches and compiles
	Version  string         // of this program, for required_version
	Prices   func() *catalog.Catalog
	Now      func() time.Time
	// Turn limits how many simulations of consolidation run at a time; nil for no limit.
	Turn compare.Turn
	// SameNamespace forbids planning for NodePlans of other namespaces.
	SameNamespace bool
}

// Records keeps the files that were last applied, even if their source no longer exists.
type Records interface {
	// Load writes the files that were last applied into an empty directory.
	Load(ctx context.Context, plan *lkeplanv1alpha1.NodePlan, dir string) (appliedRecord, error)
	// Store keeps the files that were applied and the values of variables, and returns the
	// digest of both for the status.
	Store(ctx context.Context, np *lkeplanv1alpha1.NodePlan, files isolate.Pick, vars []config.Var) (string, error)
}

// revision is a fetched revision of the source of a NodePlan.
type revision struct {
	sourceArtifact
	np     *lkeplanv1alpha1.NodePlan // its status is written
	target target                    // the NodePlan that the plan is for
	files  string                    // the directory with the fetched files; "" if nothing was fetched
	record Recorder
	cause  string // the commit or revision that is recorded on objects whose nodes are replaced
}

func (r *revision) planOnly() bool { return r.np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly }

// Recorder writes the current status of a NodePlan, before the controller acts on it. It
// fails if the approval, the rollout or the spec in the API server differ from those that
// the reconciliation read.
type Recorder func(ctx context.Context) error

// Work reconciles a NodePlan with the cluster.
func (w *Worker) Work(ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder) (o outcome) {
	err := runBounded(ctx, np, func(ctx context.Context) error {
		o = w.work(ctx, np, record)
		if o.failed {
			return stop{o}
		}
		return nil
	})
	return outcomeOf(o, err)
}

// longestComputation is the longest time that a reconciliation may compute, without the waiting of its steps. A
// simulation of Karpenter's disruption takes at most a minute of it.
const longestComputation = 5 * time.Minute

// runBounded runs a reconciliation. If it panics or takes too long, it ends with an error that names the step, and is
// retried. So a bug, or a configuration that takes too much time, does not stop the reconciliation of other
// NodePlans.
func runBounded(ctx context.Context, np *lkeplanv1alpha1.NodePlan, do func(context.Context) error) error {
	longest := longestComputation + steps*stepTimeout(np)
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	err := task.Try(slog.Default(), func() error { return do(limited) })
	o := outcomeOf(outcome{}, err)
	if !o.failed || limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	o.message = fmt.Sprintf("the reconciliation took longer than %s, and ended in this step: %s. Reduce the number of objects, or "+
		"raise spec.timeout.", text.Duration(longest), o.message)
	return stop{o}
}

func (w *Worker) work(ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder) outcome {
	finding, cancel := context.WithTimeout(ctx, stepTimeout(np))
	defer cancel()
	artifact, err := w.Sources.Find(finding, np)
	if denied, ok := errors.AsType[deniedError](err); ok {
		return stalled(lkeplanv1alpha1.ReasonAccessDenied, "%v", denied).outcome
	}
	if err != nil {
		return endedBy(err, lkeplanv1alpha1.ReasonArtifactFailed)
	}
	np.Status.LastAttemptedRevision = artifact.Revision
	o := outcomeOf(w.reconcileArtifact(ctx, artifact, np, record))
	o.revision, o.origin, o.current = artifact.Revision, artifact.Origin, !artifact.Stale
	return o
}

// reconcileArtifact fetches, compiles, plans and applies a revision. Its outcome contains
// no secret values.
func (w *Worker) reconcileArtifact(
	ctx context.Context, artifact sourceArtifact, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (outcome, error) {
	if np.Spec.RequireVerifiedSource && !artifact.Verified {
		return outcome{}, stalled(lkeplanv1alpha1.ReasonSourceNotVerified,
			"revision %s is not applied: source-controller has not verified its signature", artifact.Revision)
	}
	vars, err := w.Vars(ctx, np)
	if err != nil {
		return outcome{}, failed(lkeplanv1alpha1.ReasonArtifactFailed, "%v", err)
	}
	to, err := w.targetOf(ctx, np, vars)
	if err != nil {
		return outcome{}, err
	}
	known := Variables{Secrets: slices.Concat(vars.Secrets, to.vars.Secrets)}
	rev := revision{
		sourceArtifact: artifact, np: np, target: to, record: known.masked(np, record), cause: cmp.Or(artifact.Origin, artifact.Revision),
	}
	if o, done := w.nothingToDo(ctx, rev); done {
		return known.mask(np, o), nil
	}
	w.Memory.Keep(client.ObjectKeyFromObject(np), nil)
	dir, err := os.MkdirTemp("", "nodeplan-")
	if err != nil {
		return outcome{}, failed(lkeplanv1alpha1.ReasonArtifactFailed, "create a directory for the source: %v", err)
	}
	defer os.RemoveAll(dir)
	if rev.files, err = fetch(ctx, rev, dir); err != nil {
		return outcome{}, err
	}
	return known.mask(np, outcomeOf(w.planAndApply(ctx, rev, vars))), nil
}

// fetch puts the revision's files into a subdirectory of dir, and returns it.
func fetch(ctx context.Context, rev revision, dir string) (string, error) {
	files := filepath.Join(dir, "head")
	if err := os.Mkdir(files, 0o700); err != nil {
		return "", failed(lkeplanv1alpha1.ReasonArtifactFailed, "create a directory for the source: %v", err)
	}
	fetching, cancel := context.WithTimeout(ctx, stepTimeout(rev.np))
	defer cancel()
	if err := rev.Fetch(fetching, files); err != nil {
		return "", failed(lkeplanv1alpha1.ReasonArtifactFailed, "fetch revision %s: %v", rev.Revision, err)
	}
	return files, nil
}

// planAndApply compiles the fetched files, plans what they change, and applies the plan if
// that is allowed.
func (w *Worker) planAndApply(ctx context.Context, fetched revision, vars Variables) (outcome, error) {
	rev, err := w.compile(ctx, fetched, vars)
	if err != nil {
		return outcome{}, err
	}
	if o, over, err := w.continueRollout(ctx, rev); over || err != nil {
		return o, err
	}
	p, err := w.plan(ctx, rev)
	if err != nil {
		return outcome{}, err
	}
	before := rev.np.Status.DeepCopy()
	given, digest := rev.approval(p.digest)
	why := plan.LiftByApproval(given, &p.Plan, digest, w.Now())
	if err := w.awaitsMachines(ctx, rev, p); err != nil {
		return outcome{}, err
	}
	if dropped := dropApproval(rev.np, rev.Revision, p.digest); dropped != "" {
		p.stays = append(p.stays, dropped)
	}
	writePlan(rev.np, p.Plan, rev.Revision, p.digest)
	if rev.planOnly() {
		return planned(rev.revision, p, before)
	}
	var released []string
	for _, c := range p.Plan.Changes {
		if c.Action == plan.Forget && c.Effect == plan.Roll {
			released = append(released, c.Name)
		}
	}
	if err := refuseRelease(rev.np, "the source releases pools", released); err != nil {
		return outcome{}, err
	}
	if p.Plan.Refused() {
		return outcome{}, awaitsApproval(rev, p, why)
	}
	o := outcomeOf(w.applyRevision(ctx, rev, &p))
	o.approval = p.approval
	return o, nil
}

// applyRevision applies the plan, and reverts manual edits of objects that the NodePlan
// manages.
func (w *Worker) applyRevision(ctx context.Context, rev *candidate, p *judged) (outcome, error) {
	np := rev.np
	if until, waits := p.Plan.Waits(); waits {
		return waitForWindow(rev.revision, p.Plan, until), nil
	}
	if o, proves, err := w.startRollout(ctx, rev, p); proves || err != nil {
		return o, err
	}
	if err := w.recordBeforeApply(ctx, rev, p, func() { p.approval = rev.finishRollout(p.approval) }); err != nil {
		return outcome{}, err
	}
	changed, err := w.applyPlan(ctx, rev, *p)
	if err != nil {
		return outcome{}, err
	}
	if np.Status.LastAppliedDigest, err = w.Records.Store(ctx, np, rev.read, rev.target.vars.Vars); err != nil {
		return outcome{}, failed(lkeplanv1alpha1.ReasonApplyFailed, "store the record of revision %s: %v", rev.Revision, err)
	}
	before := np.Status.Pools
	if np.Status.Pools, err = w.pools(ctx, rev, p.Plan); err != nil {
		return outcome{}, failed(lkeplanv1alpha1.ReasonApplyFailed, "list the nodes of revision %s: %v", rev.Revision, err)
	}
	news := np.Status.LastAppliedRevision != rev.Revision || changed > 0
	np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision = rev.Revision, rev.Origin
	w.Memory.Keep(client.ObjectKeyFromObject(np), &applied{
		UID: np.UID, Generation: np.Generation, Revision: rev.Revision, Vars: rev.target.vars.Vars,
		Head: rev.head, Base: rev.head,
	})
	o, err := w.ready(ctx, rev, newView(rev.cluster, w.Cache, rev.head))
	if err != nil {
		return outcomeOf(o, err).changed(news), nil
	}
	o.event = o.noting(append([]string{summaryLine(p.Plan)}, p.stays...)).message + approvalText(p.approval)
	o = o.noting(p.stays)
	o.corrected = correctionsText(p.Plan, p.ours)
	o = o.changed(news || len(p.stays) > 0 && conditions.GetMessage(np, meta.ReadyCondition) != o.message)
	return waitForDrain(np, o, p.Plan, before), nil
}

// applyPlan applies a plan and updates the inventory. It returns the number of changed
// objects, even if it fails.
func (w *Worker) applyPlan(ctx context.Context, rev *candidate, p judged) (changed int, err error) {
	applying, cancel := context.WithTimeout(ctx, stepTimeout(rev.np))
	defer cancel()
	agreed := p.Comparison
	agreed.Plan.Changes = slices.Clone(p.Plan.Changes)
	for i := range agreed.Plan.Changes { // refuseForeign has refused conflicts about objects of others
		agreed.Plan.Changes[i].Conflicts = nil
	}
	_, err = apply.Run(applying, forcing{rev.cluster, p.ours}, agreed, func(step apply.Progress) {
		if step.Event != apply.Event(kube.Unchanged) {
			changed++
		}
	})
	listErr := w.takeInventory(applying, rev, p, changed > 0 || err != nil)
	if err = cmp.Or(err, listErr); err != nil {
		return changed, stop{failed(lkeplanv1alpha1.ReasonApplyFailed, "apply revision %s: %v", rev.Revision, err).changed(true)}
	}
	return changed, nil
}

// ready returns the outcome of an applied revision, after everything that the NodePlan
// waits for is ready.
func (w *Worker) ready(ctx context.Context, rev *candidate, view *nodePlanView) (o outcome, err error) {
	if rev.np.Spec.Wait {
		waiting, cancel := context.WithTimeout(ctx, stepTimeout(rev.np))
		defer cancel()
		objects := rev.head.Manifests()
		err := apply.WaitReady(waiting, view, objects, func(apply.Progress) {})
		if err == nil {
			err = apply.WaitNodes(waiting, view, objects)
		}
		if err != nil {
			return outcome{}, failed(lkeplanv1alpha1.ReasonHealthCheckFailed,
				"revision %s is applied but not ready yet: %v", rev.Revision, err)
		}
	}
	return done(lkeplanv1alpha1.ReasonSucceeded, "Applied revision: %s", rev.Revision), nil
}

// takeInventory records which objects the NodePlan has in the cluster: as read for the plan,
// or read again if something was changed.
func (w *Worker) takeInventory(ctx context.Context, rev *candidate, p judged, changed bool) error {
	labelled := p.labelled
	if changed {
		view := newView(rev.cluster, w.Cache, rev.head)
		for _, kind := range compare.Kinds() {
			if _, err := view.List(ctx, kind); err != nil && !apierrors.IsForbidden(err) {
				return fmt.Errorf("list the applied objects: %w", err)
			}
		}
		labelled = view.Found()
	}
	rev.np.Status.Inventory = p.applied.After(labelled, plan.ByKey(rev.head.Objects))
	return nil
}

// nothingToDo reports whether the cluster still matches a revision that was applied with the same
// variables, and returns the outcome in that case. If there is something to do, the caller fetches
// and plans the revision.
func (w *Worker) nothingToDo(ctx context.Context, fetched revision) (outcome, bool) {
	known, ok := w.Memory.Recall(fetched.np, fetched.Revision)
	if !ok || fetched.planOnly() || !slices.Equal(fetched.target.vars.Vars, known.Vars) || !w.recordIsThere(ctx, fetched.np) {
		return outcome{}, false
	}
	cluster, err := w.Connect(fetched.np)
	if err != nil {
		return outcome{}, false
	}
	rev := &candidate{
		revision: fetched, cluster: cluster, head: known.Head, base: compiled{Answer: compile.Answer{Result: known.Base}},
	}
	p, err := w.compare(ctx, rev, nil)
	changes := func(t compare.Target) bool { return !t.Unchanged } // also only the label of the NodePlan
	if err != nil || !p.Plan.Empty() || slices.ContainsFunc(p.Targets, changes) || len(p.refused)+len(p.stays)+len(p.Condemned) > 0 {
		return outcome{}, false
	}
	if err := w.takeInventory(ctx, rev, p, false); err != nil {
		return outcome{}, false
	}
	rev.np.Status.Contested = nil
	writePlan(rev.np, p.Plan, rev.Revision, "")
	o := outcomeOf(w.ready(ctx, rev, newView(rev.cluster, w.Cache, rev.head)))
	o.unchanged = true
	return o, true
}

// recordIsThere reports whether the record of what was last applied is intact. Otherwise the
// reconciliation creates it again.
func (w *Worker) recordIsThere(ctx context.Context, np *lkeplanv1alpha1.NodePlan) bool {
	dir, err := os.MkdirTemp("", "nodeplan-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	last, err := w.Records.Load(ctx, np, dir)
	return err == nil && last.Known()
}

// appliedMemory remembers what was last applied, so that a revision is not fetched and compiled
// again while nothing differs from it. It is not persisted. A nil pointer remembers nothing.
type appliedMemory struct {
	mu    sync.Mutex
	plans map[client.ObjectKey]applied
}

// applied is what a NodePlan last applied.
type applied struct {
	UID        types.UID
	Generation int64
	Revision   string
	Vars       []config.Var
	Head, Base compile.Result
}

// Keep remembers what a NodePlan last applied, or forgets it for nil.
func (m *appliedMemory) Keep(np client.ObjectKey, a *applied) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans == nil {
		m.plans = map[client.ObjectKey]applied{}
	}
	delete(m.plans, np)
	if a != nil {
		m.plans[np] = *a
	}
}

// Recall returns what a NodePlan last applied, if that was this revision with this spec.
func (m *appliedMemory) Recall(np *lkeplanv1alpha1.NodePlan, revision string) (applied, bool) {
	if m == nil {
		return applied{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.plans[client.ObjectKeyFromObject(np)]
	return a, ok && a.UID == np.UID && a.Generation == np.Generation && a.Revision == revision &&
		np.Status.LastAppliedRevision == revision
}
