package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	event "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/patch"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Reconciler reconciles NodePlans: it has a Worker do the work, and writes down
// what came of it.
type Reconciler struct {
	client.Client
	kuberecorder.EventRecorder
	controller.Metrics
	Worker *Worker
	// DependencyInterval is how soon a NodePlan is reconciled again whose
	// dependencies are not ready.
	DependencyInterval time.Duration
}

// ownedConditions are those that this controller alone writes.
var ownedConditions = []string{meta.ReadyCondition, meta.ReconcilingCondition, meta.StalledCondition, lkeplanv1alpha1.ConditionHealthy}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	began := time.Now()
	np := &lkeplanv1alpha1.NodePlan{}
	if err := r.Get(ctx, req.NamespacedName, np); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Worker.Rivals.Forget(req.NamespacedName) // somebody may have taken its finalizer off
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	patcher := patch.NewSerialPatcher(np, r.Client)
	defer func() {
		// Without its finalizer a deleted NodePlan is gone, and that is no error.
		if patchErr := r.patch(ctx, patcher, np); err == nil {
			err = client.IgnoreNotFound(patchErr)
		}
		r.RecordDuration(ctx, np, began)
		r.RecordReadiness(ctx, np)
		r.RecordReconciling(ctx, np)
		r.RecordStalled(ctx, np)
		r.RecordSuspend(ctx, np, np.Spec.Suspend)
	}()
	switch {
	case !np.DeletionTimestamp.IsZero():
		return r.finalize(ctx, np)
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
	return r.reconcile(ctx, np)
}

func (r *Reconciler) patch(ctx context.Context, patcher *patch.SerialPatcher, np *lkeplanv1alpha1.NodePlan) error {
	return patcher.Patch(ctx, np, patch.WithOwnedConditions{Conditions: ownedConditions},
		patch.WithForceOverwriteConditions{}, patch.WithFieldOwner("lkeplan-controller"))
}

// reconcile does the work and says when to come again.
func (r *Reconciler) reconcile(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (ctrl.Result, error) {
	if waits, err := r.dependencies(ctx, np); err != nil {
		return ctrl.Result{}, err
	} else if waits != "" {
		settle(np, failed(lkeplanv1alpha1.ReasonDependency, "%s", waits))
		return ctrl.Result{RequeueAfter: max(r.DependencyInterval, soonest)}, nil
	}
	before := np.DeepCopy()
	o := r.Worker.Work(ctx, np)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the controller stops; what is in the status stays true
	}
	settle(np, o)
	digest := ""
	if np.Status.Plan != nil && np.Status.Plan.Revision == np.Status.LastAttemptedRevision {
		digest = np.Status.Plan.Digest
	}
	np.Status.History = remember(np.Status.History, entryOf(np, o.reason, digest, r.Worker.Now()))
	r.announce(np, before, o)
	return ctrl.Result{RequeueAfter: r.next(np, o)}, nil
}

// How soon a failure is tried again, and how often a repository is asked for
// commits, where the NodePlan does not say. An interval of nothing means never
// to a queue, and a very short one that nobody else gets a turn.
const (
	soon        = 30 * time.Second
	askGitEvery = time.Minute
	soonest     = time.Second
)

// next is when a NodePlan is looked at again, spread so that many do not come
// at once.
func (r *Reconciler) next(np *lkeplanv1alpha1.NodePlan, o outcome) time.Duration {
	interval := np.Spec.Interval.Duration
	switch {
	case o.failed:
		interval = orElse(np.Spec.RetryInterval, min(interval, soon))
	case np.Spec.Git != nil:
		interval = min(interval, orElse(np.Spec.Git.Interval, askGitEvery))
	}
	if slices.ContainsFunc(np.Status.Pools, func(p lkeplanv1alpha1.PoolStatus) bool { return p.Outdated > 0 }) {
		interval = min(interval, soon) // the status says how far the nodes are
	}
	return jitter.JitteredIntervalDuration(max(interval, soonest))
}

// dependencies says which NodePlan is not ready that this one waits for.
func (r *Reconciler) dependencies(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (string, error) {
	for _, d := range np.Spec.DependsOn {
		key := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		if key.Namespace == "" {
			key.Namespace = np.Namespace
		}
		var other lkeplanv1alpha1.NodePlan
		err := r.Get(ctx, key, &other)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return "", err
		case err != nil:
			return fmt.Sprintf("it depends on NodePlan %s, which is not there", key), nil
		case !conditions.IsTrue(&other, meta.ReadyCondition) || other.Status.ObservedGeneration != other.Generation:
			return fmt.Sprintf("it depends on NodePlan %s, which is not ready", key), nil
		}
	}
	return "", nil
}

// announce publishes an event where there is something new to say, and one that
// sets the status of the commit. Those are two, because notification-controller
// tells nobody but the forge of an event that is marked for that; and it takes
// two of the same text for one.
func (r *Reconciler) announce(np, before *lkeplanv1alpha1.NodePlan, o outcome) {
	if o.corrected != "" {
		r.Eventf(np, corev1.EventTypeNormal, lkeplanv1alpha1.ReasonDriftCorrected, "%s", shorten(o.corrected, maxEvent))
	}
	kind, reason := corev1.EventTypeNormal, cmp.Or(o.refused, o.reason)
	if o.stalled || o.failed || o.refused != "" {
		kind = corev1.EventTypeWarning
	}
	was := conditions.Get(before, meta.ReadyCondition)
	again := was != nil && was.Reason == o.reason && was.Message == shorten(o.message, maxMessage)
	if again && (!o.news || o.stalled) {
		return
	}
	if kind == corev1.EventTypeNormal && !o.news && was != nil && was.Status == "True" {
		return
	}
	// notification-controller drops what it was told minutes ago already, though
	// the opposite has come in between; the token tells the two times apart.
	metadata := map[string]string{TokenKey: conditions.Get(np, meta.ReadyCondition).LastTransitionTime.UTC().Format(time.RFC3339)}
	// Of no other revision than the one at hand: the status of its commit is set.
	if o.revision != "" {
		metadata[RevisionKey] = o.revision
	}
	if o.origin != "" {
		metadata[OriginRevisionKey] = o.origin
	}
	r.AnnotatedEventf(np, metadata, kind, reason, "%s", shorten(cmp.Or(o.event, o.message), maxEvent))
	if kind == corev1.EventTypeNormal { // a failure sets the status without a mark
		metadata[lkeplanv1alpha1.Group+"/"+event.MetaCommitStatusKey] = event.MetaCommitStatusUpdateValue
		r.AnnotatedEventf(np, metadata, kind, reason, "%s", shorten(o.message, maxEvent))
	}
}

// maxEvent is how long the message of an event may be, in bytes: what
// notification-controller takes.
const maxEvent = 39_000

// finalize settles what becomes of the objects of a NodePlan that is deleted.
func (r *Reconciler) finalize(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(np, Finalizer) {
		return ctrl.Result{}, nil
	}
	if err := r.detach(ctx, np); err != nil && !refused(err) {
		settle(np, failed(lkeplanv1alpha1.ReasonPruneFailed, "it is deleted, and its objects could not be orphaned: %v", err))
		return ctrl.Result{}, err
	} else if err != nil {
		// Its account may have gone before it, with their namespace.
		r.Eventf(np, corev1.EventTypeWarning, lkeplanv1alpha1.ReasonPruneFailed, "its objects stay: %v", err)
	}
	r.Worker.Rivals.Forget(client.ObjectKeyFromObject(np))
	controllerutil.RemoveFinalizer(np, Finalizer)
	return ctrl.Result{}, nil
}

// refused reports whether asking again would get the same answer.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apimeta.IsNoMatchError(err)
}

// detach deletes the objects of a NodePlan, or orphans them. A NodePlan that is
// suspended or only plans deletes none.
func (r *Reconciler) detach(ctx context.Context, np *lkeplanv1alpha1.NodePlan) error {
	to, err := r.Worker.Connect(np)
	if err != nil {
		return err
	}
	remove := np.Spec.DeletionPolicy == lkeplanv1alpha1.DeletionDelete && np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly && !np.Spec.Suspend
	return apply.Detach(ctx, to, r.Worker.viewOf(to, compile.Result{Inventory: inventoryLabel(np)}), inventoryLabel(np), remove)
}
