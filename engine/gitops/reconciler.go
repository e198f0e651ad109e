package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/patch"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Reconciler reconciles NodePlans: it has a Worker do the work, and writes the
// outcome into conditions, history, events and metrics.
type Reconciler struct {
	client.Client
	kuberecorder.EventRecorder
	controller.Metrics
	Counts *reconcilerMetrics // nil: nothing is counted
	Traces *traces            // nil: there are none
	Worker *Worker
	// DependencyInterval is the time until a NodePlan is reconciled again whose
	// dependencies are not ready.
	DependencyInterval time.Duration
	// Jitter is the share of an interval by which it may be longer or shorter, so that
	// many NodePlans are not reconciled at the same moment.
	Jitter float64
	// Shard selects the NodePlans that this process reconciles; nil for all. It reads all
	// of them.
	Shard labels.Selector
}

// ownedConditions are those that only this controller writes.
var ownedConditions = []string{
	meta.ReadyCondition, meta.ReconcilingCondition, meta.StalledCondition, lkeplanv1alpha1.ConditionHealthy,
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	began := time.Now()
	np := &lkeplanv1alpha1.NodePlan{}
	if err := r.Worker.Reader.Get(ctx, req.NamespacedName, np); err != nil { // the cache may not have its last status
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
		// Without its finalizer a deleted NodePlan is gone, and that is no error.
		if patchErr := r.patch(ctx, patcher, np); err == nil {
			err = client.IgnoreNotFound(patchErr)
		}
		if r.Counts.NodePlan(np); err == nil && len(np.Finalizers) == 0 {
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

// inShard reports whether a NodePlan is one that this process reconciles.
func (r *Reconciler) inShard(np *lkeplanv1alpha1.NodePlan) bool {
	return r.Shard == nil || r.Shard.Matches(labels.Set(np.Labels))
}

func (r *Reconciler) patch(ctx context.Context, patcher *patch.SerialPatcher, np *lkeplanv1alpha1.NodePlan) error {
	return patcher.Patch(ctx, np, patch.WithOwnedConditions{Conditions: ownedConditions},
		patch.WithForceOverwriteConditions{}, patch.WithFieldOwner("lkeplan-controller"))
}

// record writes the status of a NodePlan as it is now, where the API server has its spec,
// approval and rollout as they were read. Of two leaders one succeeds.
func (r *Reconciler) record(ctx context.Context, was, np *lkeplanv1alpha1.NodePlan) error {
	live := &lkeplanv1alpha1.NodePlan{}
	if err := r.Worker.Reader.Get(ctx, client.ObjectKeyFromObject(np), live); err != nil {
		return err
	}
	same := live.UID == was.UID && live.Generation == was.Generation &&
		equality.Semantic.DeepEqual(live.Status.Approval, was.Status.Approval) &&
		equality.Semantic.DeepEqual(live.Status.Rollout, was.Status.Rollout)
	if !same {
		return errors.New("the NodePlan has changed meanwhile")
	}
	next := live.DeepCopy()
	np.Status.DeepCopyInto(&next.Status)
	return r.Status().Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner("lkeplan-controller"))
}

// reconcile does the work, writes down the outcome, and returns when to reconcile
// again.
func (r *Reconciler) reconcile(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, record Recorder,
) (ctrl.Result, error) {
	if waits, err := r.dependencies(ctx, np); err != nil {
		return ctrl.Result{}, err
	} else if waits != "" {
		settle(np, failed(lkeplanv1alpha1.ReasonDependency, "%s", waits))
		return ctrl.Result{RequeueAfter: max(r.DependencyInterval, minInterval)}, nil
	}
	before := np.DeepCopy()
	working, work := r.Traces.Begin(ctx)
	o := r.Worker.Work(working, np, record)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the controller stops, and the status stays as it is
	}
	if o.current {
		r.Counts.SourceChecked(np.Namespace, np.Name, r.Worker.Now())
	}
	settle(np, o)
	remember(np, o, r.Worker.Now())
	np.Status.Outdated, np.Status.NextWindow = totalOf(np.Status.Pools)
	if opening := o.opening(); opening != nil {
		np.Status.NextWindow = opening
	}
	said := r.publish(ctrl.LoggerFrom(ctx), np, before, o)
	r.Traces.End(ctx, work, before, np, o, said)
	return ctrl.Result{RequeueAfter: r.next(np, o)}, nil
}

// The intervals of reconciliations, where the NodePlan does not say.
const (
	retryInterval = 30 * time.Second // after a failure, and while pools give up their nodes
	gitInterval   = time.Minute      // between polls of a Git repository
	// secretInterval is the time between reads of Secrets with variables. They are not
	// watched: that takes the right to list them, and with it to read them all.
	secretInterval = time.Minute
	// minInterval bounds them all: a queue takes 0 for never, and with a very short
	// interval one NodePlan would take the turns of all others.
	minInterval = time.Second
)

// next is the time until a NodePlan is reconciled again, with some jitter, so that
// many NodePlans are not reconciled at the same moment.
func (r *Reconciler) next(np *lkeplanv1alpha1.NodePlan, o outcome) time.Duration {
	interval := np.Spec.Interval.Duration
	switch {
	case o.failed:
		interval = orElse(np.Spec.RetryInterval, min(interval, retryInterval))
	case np.Spec.Git != nil:
		interval = min(interval, orElse(np.Spec.Git.Interval, gitInterval))
	}
	if o.inProgress && o.waitUntil.IsZero() { // somebody has to delete what has given up its last node
		interval = min(interval, retryInterval)
	}
	if !o.failed && slices.ContainsFunc(np.Spec.VariablesFrom, isSecret) {
		interval = min(interval, secretInterval)
	}
	if o.requeueAfter > 0 {
		interval = min(interval, o.requeueAfter)
	}
	if !o.waitUntil.IsZero() { // a moment late, so that the time has come
		interval = min(interval, o.waitUntil.Sub(r.Worker.Now())+minInterval)
	}
	return max(r.jittered(interval), minInterval)
}

func isSecret(from lkeplanv1alpha1.VariablesReference) bool { return from.Kind == "Secret" }

// shared is the present revision of the source that two NodePlans have in common; ""
// where they have none, or it is not known. Of a Git URL it is not, as its server would
// be asked for each dependency.
func (r *Reconciler) shared(ctx context.Context, np, other *lkeplanv1alpha1.NodePlan) string {
	if key := sourceKey(np); key == "" || key != sourceKey(other) || other.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		return ""
	}
	artifact, err := r.Worker.Sources.Find(ctx, np)
	if err != nil {
		return "" // the reconciliation says so
	}
	return artifact.Revision
}

// jittered returns a duration that differs by as much as the jitter allows, to either
// side.
func (r *Reconciler) jittered(d time.Duration) time.Duration {
	return d + time.Duration((2*rand.Float64()-1)*r.Jitter*float64(d))
}

// dependencies returns a sentence about the first NodePlan that this one depends
// on and that is not ready; "" where all are ready.
func (r *Reconciler) dependencies(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (string, error) {
	for _, d := range np.Spec.DependsOn {
		key := types.NamespacedName{Namespace: cmp.Or(d.Namespace, np.Namespace), Name: d.Name}
		var other lkeplanv1alpha1.NodePlan
		err := r.Get(ctx, key, &other)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return "", err
		case err != nil:
			return fmt.Sprintf("it depends on NodePlan %s, which does not exist", key), nil
		case !conditions.IsTrue(&other, meta.ReadyCondition) || other.Status.ObservedGeneration != other.Generation:
			return fmt.Sprintf("it depends on NodePlan %s, which is not ready", key), nil
		}
		if revision := r.shared(ctx, np, &other); revision != "" && other.Status.LastAppliedRevision != revision {
			return fmt.Sprintf("it depends on NodePlan %s, which has not applied revision %s of the same source", key,
				revision), nil
		}
	}
	return "", nil
}
