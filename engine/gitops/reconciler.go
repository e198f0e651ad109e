package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/patch"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Reconciler reconciles NodePlans: a Worker does the work, and the Reconciler writes the
// outcome into conditions, history, events and metrics.
type Reconciler struct {
	client.Client
	kuberecorder.EventRecorder
	controller.Metrics
	Counts *reconcilerMetrics // nil disables metrics
	Worker *Worker
	// DependencyInterval is the time until a NodePlan with dependencies that are not ready
	// is reconciled again.
	DependencyInterval time.Duration
	// Jitter is the share of an interval by which it is randomly made longer or shorter, so that many NodePlans are
	// not reconciled at the same time.
	Jitter float64
	// Shard selects the NodePlans that this process reconciles; nil selects all. The process reads all NodePlans in
	// any case.
	Shard labels.Selector
}

// ownedConditions are the conditions that only this controller writes.
var ownedConditions = []string{
	meta.ReadyCondition, meta.ReconcilingCondition, meta.StalledCondition, lkeplanv1alpha1.ConditionHealthy,
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	began := time.Now()
	np := &lkeplanv1alpha1.NodePlan{}
	if err := r.Worker.Reader.Get(ctx, req.NamespacedName, np); err != nil { // the cache may lack its last status
		if client.IgnoreNotFound(err) == nil {
			r.Worker.Memory.Keep(req.NamespacedName, nil)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.inShard(np) {
		return ctrl.Result{}, nil
	}
	patcher := patch.NewSerialPatcher(np, r.Client)
	defer func() {
		// A deleted NodePlan without its finalizer no longer exists. That is not an error.
		if patchErr := r.patch(ctx, patcher, np); err == nil {
			err = client.IgnoreNotFound(patchErr)
		}
		r.Counts.NodePlan(np)
		if err == nil && len(np.Finalizers) == 0 {
			r.Counts.Forget(np.Namespace, np.Name)
		}
		r.RecordDuration(ctx, np, began)
		r.RecordReadiness(ctx, np)
		r.RecordReconciling(ctx, np)
		r.RecordStalled(ctx, np)
		r.RecordSuspend(ctx, np, np.Spec.Suspend)
	}()
	was := np.DeepCopy()
	record := func(ctx context.Context) error {
		if err := r.record(ctx, was, np); err != nil {
			return err
		}
		was, patcher = np.DeepCopy(), patch.NewSerialPatcher(np, r.Client)
		return nil
	}
	switch {
	case !np.DeletionTimestamp.IsZero():
		return r.finalize(ctx, np, record)
	case !controllerutil.ContainsFinalizer(np, Finalizer):
		controllerutil.AddFinalizer(np, Finalizer)
		return ctrl.Result{RequeueAfter: time.Nanosecond}, nil
	case np.Spec.Suspend:
		return ctrl.Result{}, nil
	}
	if asked, ok := meta.ReconcileAnnotationValue(np.Annotations); ok {
		np.Status.LastHandledReconcileAt = asked
	}
	conditions.MarkReconciling(np, meta.ProgressingReason, "reconciliation in progress")
	if err := r.patch(ctx, patcher, np); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.reconcile(ctx, np, record)
}

// inShard reports whether this process reconciles a NodePlan.
func (r *Reconciler) inShard(np *lkeplanv1alpha1.NodePlan) bool {
	return r.Shard == nil || r.Shard.Matches(labels.Set(np.Labels))
}

func (r *Reconciler) patch(ctx context.Context, patcher *patch.SerialPatcher, np *lkeplanv1alpha1.NodePlan) error {
	return patcher.Patch(ctx, np, patch.WithOwnedConditions{Conditions: ownedConditions},
		patch.WithForceOverwriteConditions{}, patch.WithFieldOwner("lkeplan-controller"))
}

// record writes the current status of a NodePlan, if its spec, approval and rollout in the API server have not
// changed since they were read. If two processes are leaders by mistake, one of them gets an error.
func (r *Reconciler) record(ctx context.Context, was, np *lkeplanv1alpha1.NodePlan) error {
	live := &lkeplanv1alpha1.NodePlan{}
	if err := r.Worker.Reader.Get(ctx, client.ObjectKeyFromObject(np), live); err != nil {
		return err
	}
	same := live.UID == was.UID && live.Generation == was.Generation &&
		equality.Semantic.DeepEqual(live.Status.Approval, was.Status.Approval) &&
		equality.Semantic.DeepEqual(live.Status.Rollout, was.Status.Rollout)
	if !same {
		return errors.New("the NodePlan was changed in the meantime")
	}
	next := live.DeepCopy()
	np.Status.DeepCopyInto(&next.Status)
	return r.Status().Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner("lkeplan-controller"))
}

// reconcile does the work, records the outcome, and returns when to reconcile again.
func (r *Reconciler) reconcile(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (ctrl.Result, error) {
	if waits, err := r.dependencies(ctx, np); err != nil {
		return ctrl.Result{}, err
	} else if waits != "" {
		setConditions(np, failed(lkeplanv1alpha1.ReasonDependency, "%s", waits).outcome)
		return ctrl.Result{RequeueAfter: max(r.DependencyInterval, minInterval)}, nil
	}
	before := np.DeepCopy()
	np.Status.NextWindow = nil
	o := r.Worker.Work(ctx, np, record)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the controller stops; the status stays unchanged
	}
	if o.current {
		r.Counts.SourceChecked(np.Namespace, np.Name, r.Worker.Now())
	}
	setConditions(np, o)
	addHistory(np, o, r.Worker.Now())
	outdated, window := totalOf(np.Status.Pools)
	np.Status.Outdated = outdated
	if np.Status.NextWindow == nil { // no plan is waiting
		np.Status.NextWindow = window
	}
	r.publish(ctrl.LoggerFrom(ctx), np, before, o)
	return ctrl.Result{RequeueAfter: r.next(np, o)}, nil
}

// The default intervals of reconciliations.
const (
	retryInterval = 30 * time.Second // after a failure, and while pools drain
	// secretInterval is the time between reads of Secrets with variables. They are not
	// watched, because permission to watch Secrets is permission to read all of them.
	secretInterval = time.Minute
	// minInterval is the minimum of all intervals: a queue treats 0 as never, and a NodePlan
	// with a very short interval would block all others.
	minInterval = time.Second
)

// next returns the time until a NodePlan is reconciled again, with jitter.
func (r *Reconciler) next(np *lkeplanv1alpha1.NodePlan, o outcome) time.Duration {
	interval := np.Spec.Interval.Duration
	if o.failed {
		interval = orElse(np.Spec.RetryInterval, min(interval, retryInterval))
	}
	if o.inProgress && o.waitUntil.IsZero() { // a pool has to be deleted after its last node
		interval = min(interval, retryInterval)
	}
	if !o.failed && slices.ContainsFunc(np.Spec.VariablesFrom, isSecret) {
		interval = min(interval, secretInterval)
	}
	if o.requeueAfter > 0 {
		interval = min(interval, o.requeueAfter)
	}
	if !o.waitUntil.IsZero() { // slightly later, so that the time has passed
		interval = min(interval, o.waitUntil.Sub(r.Worker.Now())+minInterval)
	}
	return max(r.jittered(interval), minInterval)
}

func isSecret(from lkeplanv1alpha1.VariablesReference) bool { return from.Kind == "Secret" }

// sharedRevision returns the current revision of the source that two NodePlans share; "" if they share none, or if the
// revision is unknown. It is always unknown for a Git URL, because finding it would take a request to the Git
// server for each dependency.
func (r *Reconciler) sharedRevision(ctx context.Context, np, other *lkeplanv1alpha1.NodePlan) string {
	if key := sourceKey(np); key == "" || key != sourceKey(other) || other.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		return ""
	}
	artifact, err := r.Worker.Sources.Find(ctx, np)
	if err != nil {
		return "" // the reconciliation reports the error
	}
	return artifact.Revision
}

// jittered returns a duration with random jitter.
func (r *Reconciler) jittered(d time.Duration) time.Duration {
	return d + time.Duration((2*rand.Float64()-1)*r.Jitter*float64(d))
}

// dependencies returns a message about the first dependency that is not ready; "" if all
// are ready.
func (r *Reconciler) dependencies(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (string, error) {
	for _, d := range np.Spec.DependsOn {
		key := types.NamespacedName{Namespace: cmp.Or(d.Namespace, np.Namespace), Name: d.Name}
		var other lkeplanv1alpha1.NodePlan
		err := r.Get(ctx, key, &other)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return "", err
		case err != nil:
			return fmt.Sprintf("dependency NodePlan %s does not exist", key), nil
		case !conditions.IsTrue(&other, meta.ReadyCondition) || other.Status.ObservedGeneration != other.Generation:
			return fmt.Sprintf("dependency NodePlan %s is not ready", key), nil
		}
		if revision := r.sharedRevision(ctx, np, &other); revision != "" && other.Status.LastAppliedRevision != revision {
			return fmt.Sprintf("dependency NodePlan %s has not applied revision %s of the same source yet", key,
				revision), nil
		}
	}
	return "", nil
}

// finalize deletes or orphans the objects of a deleted NodePlan, and removes its finalizer. If the
// guards refuse the deletion, the NodePlan stays until a user approves it, or sets the deletion
// policy to Orphan.
func (r *Reconciler) finalize(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(np, Finalizer) {
		return ctrl.Result{}, nil
	}
	before := np.DeepCopy()
	err := runBounded(ctx, np, func(ctx context.Context) error { return r.Worker.end(ctx, np, record) })
	switch o, waiting := errors.AsType[stop](err); {
	case waiting:
		setConditions(np, o.outcome)
		r.publish(ctrl.LoggerFrom(ctx), np, before, o.outcome)
		return ctrl.Result{RequeueAfter: r.next(np, o.outcome)}, nil
	case err != nil && !isRefused(err):
		setConditions(np, failed(lkeplanv1alpha1.ReasonPruneFailed,
			"the NodePlan is being deleted, but its objects cannot be released: %v", err).outcome)
		return ctrl.Result{}, err
	case err != nil: // its service account may be deleted already, together with the namespace
		r.Eventf(np, corev1.EventTypeWarning, lkeplanv1alpha1.ReasonPruneFailed, "the objects stay in the cluster: %v", err)
	}
	controllerutil.RemoveFinalizer(np, Finalizer)
	return ctrl.Result{}, nil
}

// isRefused reports whether the API server would refuse a retry as well.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) || apimeta.IsNoMatchError(err)
}

// end stops managing all objects of a NodePlan: with the deletion policy Delete, the objects that it
// has applied are deleted. All other objects with its label stay, without the label. A NodePlan that
// is suspended or only plans deletes nothing. The error is an outcome if the NodePlan waits for a
// user.
func (w *Worker) end(ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder) error {
	to, err := w.Connect(np)
	if err != nil {
		return err
	}
	remove := np.Spec.DeletionPolicy == lkeplanv1alpha1.DeletionDelete && !np.Spec.Suspend &&
		np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly
	if remove {
		if err := w.remove(ctx, np, to, record); err != nil {
			return err
		}
	}
	label := nodeplan.InventoryLabel(np)
	view := newView(to, w.Cache, compile.Result{Inventory: label})
	if np.Spec.Rollout != nil { // not from the status, which may be lost or not written yet
		pools, err := view.List(ctx, *schemas.Pool.Object)
		if err != nil {
			return err
		}
		var held []string
		for _, pool := range pools {
			if rollout.HasWaveBudget(pool) {
				held = append(held, manifest.Name(pool))
			}
		}
		if err := refuseRelease(np, "the NodePlan is being deleted", held); err != nil {
			return err
		}
	}
	return apply.Orphan(ctx, to, view, label)
}

// remove deletes what a NodePlan has applied, if the last applied guards and policies allow it.
func (w *Worker) remove(ctx context.Context, np *lkeplanv1alpha1.NodePlan, to Cluster, record Recorder) error {
	dir, err := os.MkdirTemp("", "nodeplan-")
	if err != nil {
		return fmt.Errorf("create a directory for what was last applied: %w", err)
	}
	defer os.RemoveAll(dir)
	vars, _ := w.Vars(ctx, np) // only values from Secrets are needed, and without one the change waits for approval
	rev := &candidate{
		revision: revision{
			sourceArtifact: sourceArtifact{Revision: np.Status.LastAttemptedRevision},
			np:             np, target: target{np, vars}, record: Variables{Secrets: vars.Secrets}.masked(np, record),
		},
		cluster: to, deleting: true,
	}
	nothing := compiled{request: compile.Request{Root: dir}}
	if rev.base, err = w.base(ctx, rev.target, filepath.Join(dir, "base"), nothing); err != nil {
		return err
	}
	rev.head.Cluster, rev.head.Inventory = rev.base.Cluster, nodeplan.InventoryLabel(np)
	p, err := w.compare(ctx, rev, nil)
	if err != nil {
		return err
	}
	if err := w.judge(ctx, rev, &p); err != nil {
		return err
	}
	if p.digest, err = p.Plan.Digest(); err != nil {
		return err
	}
	why := plan.LiftByApproval(np.Status.Approval, &p.Plan, p.digest, w.Now())
	if err := w.awaitsMachines(ctx, rev, p); err != nil {
		return err
	}
	writePlan(np, p.Plan, rev.Revision, p.digest)
	if p.Plan.Refused() {
		o := stalled(lkeplanv1alpha1.ReasonGuarded, "the NodePlan is being deleted, and the deletion of its objects waits "+
			"for approval: %s To keep the objects, set spec.deletionPolicy to Orphan.", explainBlocked(np, p, why))
		return stop{Variables{Secrets: vars.Secrets}.mask(np, o.outcome)}
	}
	if until, waits := p.Plan.Waits(); waits {
		return stop{waitForWindow(rev.revision, p.Plan, until)}
	}
	if err := w.recordBeforeApply(ctx, rev, &p, func() {}); err != nil {
		return err
	}
	_, err = apply.Run(ctx, to, compare.Comparison{Plan: p.Plan}, func(apply.Progress) {})
	return err
}
