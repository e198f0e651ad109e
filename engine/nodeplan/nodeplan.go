// Package nodeplan is what the reconciler of NodePlans and commands about them share: which
// objects belong to a NodePlan (holding.go), which guards and exceptions its spec adds (terms.go),
// and what people do with one: show it, approve its plan, suspend, resume and reconcile it, and
// wait until that is done. A command writes what its user could write with kubectl.
//
// The inventory label of an object names its owner, but anyone can copy a label.
// What a NodePlan has applied is in the inventory of its status, by UID, which cannot be
// copied; only that is ever deleted.
//
// It reconciles nothing: the controller does.
package nodeplan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Cluster is the cluster with the NodePlans; kube.Cluster is one.
type Cluster interface {
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	ListIn(ctx context.Context, apiVersion, kind, namespace string) ([]map[string]any, error)
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	MergeStatus(ctx context.Context, obj, change map[string]any, manager string) error
}

var apiVersion = lkeplanv1alpha1.GroupVersion.String()

const kind = "NodePlan"

// reference returns what names a NodePlan to a Cluster.
func reference(at types.NamespacedName) map[string]any { return referenceTo(apiVersion, kind, at) }

func referenceTo(apiVersion, kind string, at types.NamespacedName) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": at.Namespace, "name": at.Name},
	}
}

// List returns the NodePlans of a namespace, or of all if it is "", sorted by
// namespace and name.
func List(ctx context.Context, c Cluster, namespace string) ([]lkeplanv1alpha1.NodePlan, error) {
	objects, err := c.ListIn(ctx, apiVersion, kind, namespace)
	if err != nil {
		return nil, err
	}
	plans := make([]lkeplanv1alpha1.NodePlan, len(objects))
	for i, obj := range objects {
		np, err := manifest.As[lkeplanv1alpha1.NodePlan](obj)
		if err != nil {
			return nil, err
		}
		plans[i] = *np
	}
	slices.SortFunc(plans, func(a, b lkeplanv1alpha1.NodePlan) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return plans, nil
}

// Get returns a NodePlan. If it does not exist, the error lists the existing ones.
func Get(ctx context.Context, c Cluster, at types.NamespacedName) (*lkeplanv1alpha1.NodePlan, error) {
	obj, err := c.Get(ctx, reference(at))
	if err != nil {
		return nil, err
	}
	if obj != nil {
		return manifest.As[lkeplanv1alpha1.NodePlan](obj)
	}
	err = fmt.Errorf("there is no NodePlan %s", at)
	others, listErr := List(ctx, c, at.Namespace)
	if listErr != nil {
		return nil, err // that it does not exist is what matters
	}
	names := make([]string, len(others))
	for i, np := range others {
		names[i] = np.Name
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w, and no other in the namespace %s", err, at.Namespace)
	}
	return nil, fmt.Errorf("%w; the namespace %s has %s.%s", err, at.Namespace, strings.Join(names, ", "),
		eval.DidYouMean(at.Name, names))
}

// Key names a NodePlan.
func Key(np *lkeplanv1alpha1.NodePlan) types.NamespacedName {
	return types.NamespacedName{Namespace: np.Namespace, Name: np.Name}
}

// The states of a NodePlan, in words.
const (
	Ready     = "ready"
	Waiting   = "waits for approval"
	Delayed   = "waits for window"
	Frozen    = "frozen"  // until a freeze ends
	Stopped   = "stopped" // until a DisruptionStop ends
	Stalled   = "stalled" // until a user changes something
	Failing   = "failing" // and retried
	Working   = "working"
	Proving   = "first wave"  // before the rest of the revision is applied
	Held      = "held"        // the first wave failed
	Restored  = "rolled back" // the first wave failed, and the previous revision is applied again
	Suspended = "suspended"
	Deleted   = "being deleted"
)

// states are the states for reasons of the condition Ready.
var states = map[string]string{
	lkeplanv1alpha1.ReasonGuarded: Waiting, lkeplanv1alpha1.ReasonOutsideWindow: Delayed, lkeplanv1alpha1.ReasonProving: Proving,
	lkeplanv1alpha1.ReasonHeld: Held, lkeplanv1alpha1.ReasonRolledBack: Restored,
}

// State returns the state of a NodePlan in a word or two.
func State(np *lkeplanv1alpha1.NodePlan) string {
	ready := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReadyCondition)
	switch {
	case np.DeletionTimestamp != nil && ready != nil && slices.Contains([]string{Waiting, Delayed}, states[ready.Reason]):
		return Deleted + ", " + states[ready.Reason]
	case np.DeletionTimestamp != nil:
		return Deleted
	case np.Spec.Suspend:
		return Suspended
	case ready == nil || np.Status.ObservedGeneration != np.Generation:
		return Working
	case ready.Status == metav1.ConditionTrue:
		return Ready
	case ready.Reason == lkeplanv1alpha1.ReasonOutsideWindow && waitsOnly(np, plan.Frozen):
		return Frozen
	case ready.Reason == lkeplanv1alpha1.ReasonOutsideWindow && waitsOnly(np, plan.Stopped):
		return Stopped
	case states[ready.Reason] != "":
		return states[ready.Reason]
	case apimeta.IsStatusConditionTrue(np.Status.Conditions, meta.StalledCondition):
		return Stalled
	case ready.Status == metav1.ConditionFalse:
		return Failing
	}
	return Working
}

// waitsOnly reports whether the plan of a NodePlan waits only for guards of a name.
func waitsOnly(np *lkeplanv1alpha1.NodePlan, guard string) (is bool) {
	for _, g := range np.Status.Guards {
		if g.Status == string(plan.Waiting) {
			if is = g.Guard == guard; !is {
				return false
			}
		}
	}
	return is
}

// Message is the message of the condition Ready of a NodePlan.
func Message(np *lkeplanv1alpha1.NodePlan) string {
	if ready := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReadyCondition); ready != nil {
		return ready.Message
	}
	return ""
}

// compared are the reasons of the condition Ready of a NodePlan whose revision was compared with the cluster. With any
// other reason, the reconciliation ended earlier, and the plan in the status is an earlier one.
var compared = []string{
	lkeplanv1alpha1.ReasonSucceeded, lkeplanv1alpha1.ReasonPlanned, lkeplanv1alpha1.ReasonGuarded,
	lkeplanv1alpha1.ReasonOutsideWindow, lkeplanv1alpha1.ReasonPruning, lkeplanv1alpha1.ReasonHealthCheckFailed,
	lkeplanv1alpha1.ReasonProving, lkeplanv1alpha1.ReasonHeld, lkeplanv1alpha1.ReasonRolledBack,
}

// Pending returns the plan that a NodePlan has made and not applied; nil if there is none. If the controller could
// not compare the revision with the cluster, that is unknown, for the returned reason. A NodePlan that only plans
// keeps its plan pending. The status keeps the plan of an earlier revision until another one changes something: that
// plan is not pending.
func Pending(np *lkeplanv1alpha1.NodePlan) (p *lkeplanv1alpha1.PlanSummary, unknown string) {
	ready := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReadyCondition)
	switch {
	case np.DeletionTimestamp != nil:
		return nil, "the NodePlan is being deleted"
	case ready == nil && np.Spec.Suspend:
		return nil, "the NodePlan is suspended, and the controller has never reconciled it"
	case ready == nil:
		return nil, "the controller has not reconciled the NodePlan yet"
	case !slices.Contains(compared, ready.Reason):
		why, _, _ := strings.Cut(ready.Message, "\n")
		return nil, cmp.Or(why, ready.Reason)
	case np.Status.ObservedGeneration != np.Generation && !np.Spec.Suspend: // to suspend it is another generation
		return nil, "the controller has not reconciled the NodePlan since its spec changed"
	}
	applied := ready.Reason == lkeplanv1alpha1.ReasonHealthCheckFailed ||
		ready.Status == metav1.ConditionTrue && np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly
	p = np.Status.Plan
	switch {
	case p != nil && !applied && p.Revision == np.Status.LastAttemptedRevision &&
		p.Create+p.Update+p.Delete+len(p.Changes)+len(np.Status.Guards) > 0:
		return p, ""
	case np.Spec.Suspend:
		return nil, "the NodePlan is suspended: the controller compares nothing"
	}
	return nil, ""
}

// Superseded reports whether a NodePlan is ready with another revision than that of the plan in its status.
func Superseded(np *lkeplanv1alpha1.NodePlan) bool {
	return np.Status.Plan != nil && np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly &&
		np.Status.Plan.Revision != np.Status.LastAppliedRevision &&
		apimeta.IsStatusConditionTrue(np.Status.Conditions, meta.ReadyCondition)
}

// Short returns a revision with the first eight digits of its commit; "-" for none.
func Short(revision string) string {
	if revision == "" {
		return "-"
	}
	revision = diag.OneLine(revision)
	if i := strings.LastIndexByte(revision, ':'); i >= 0 && len(revision) > i+9 {
		return revision[:i+9]
	}
	return revision
}
