package nodeplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// manager owns the fields that are changed here. It is not the one that applies objects:
// another apply would revert them.
const manager = "lkeplan-nodeplan"

// Applies returns the NodePlan that applies what np plans: the plan of a pull
// request is approved there. It is an error if no NodePlan applies it.
func Applies(np *lkeplanv1alpha1.NodePlan) (types.NamespacedName, error) {
	to := np.Spec.PlanFor
	switch {
	case np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly:
		return Key(np), nil
	case to == nil:
		return Key(np), fmt.Errorf("NodePlan %s only plans, and its planFor names no NodePlan that applies it: nothing can be approved",
			Key(np))
	}
	return types.NamespacedName{Namespace: cmp.Or(to.Namespace, np.Namespace), Name: to.Name}, nil
}

// Approve writes an approval on a NodePlan, in place of an earlier one; nil takes it back.
func Approve(ctx context.Context, c Cluster, at types.NamespacedName, a *lkeplanv1alpha1.Approval) error {
	var given any
	if a != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
		if err != nil {
			return fmt.Errorf("write the approval: %w", err)
		}
		given = fields
	}
	return c.MergeStatus(ctx, reference(at), map[string]any{"status": map[string]any{"approval": given}}, manager)
}

// Suspend suspends a NodePlan, or resumes it.
func Suspend(ctx context.Context, c Cluster, at types.NamespacedName, suspend bool) error {
	return c.Merge(ctx, reference(at), map[string]any{"spec": map[string]any{"suspend": suspend}}, manager)
}

// Request requests a reconciliation of a NodePlan, and returns the token for Await.
func Request(ctx context.Context, c Cluster, at types.NamespacedName, now time.Time) (token string, err error) {
	return requestReconcile(ctx, c, reference(at), now)
}

func requestReconcile(ctx context.Context, c Cluster, obj map[string]any, now time.Time) (token string, err error) {
	token = now.Format(time.RFC3339Nano)
	return token, c.Merge(ctx, obj, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{meta.ReconcileRequestAnnotation: token}},
	}, manager)
}

// ErrNoSource means that a NodePlan has no source that Flux fetches.
var ErrNoSource = errors.New("its source is not one of Flux, and is read in each reconciliation")

// Fetch requests that Flux fetches the source of a NodePlan, and returns when it has. It reports what
// it is waiting for.
func Fetch(ctx context.Context, c Cluster, np *lkeplanv1alpha1.NodePlan, now time.Time, report func(string)) error {
	ref := np.Spec.SourceRef
	if ref == nil {
		return ErrNoSource
	}
	source := referenceTo("source.toolkit.fluxcd.io/v1", ref.Kind,
		types.NamespacedName{Namespace: cmp.Or(ref.Namespace, np.Namespace), Name: ref.Name})
	token, err := requestReconcile(ctx, c, source, now)
	if err != nil {
		return err
	}
	report(fmt.Sprintf("waiting for %s to fetch its latest revision", manifest.KeyOf(source)))
	return waitUntil(ctx, func(ctx context.Context) (bool, error) {
		live, err := c.Get(ctx, source)
		return manifest.Text(live, "status", "lastHandledReconcileAt") == token, err
	}, func() error { return fmt.Errorf("timed out waiting for %s", manifest.KeyOf(source)) })
}
