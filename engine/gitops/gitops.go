// Package gitops reconciles NodePlans: it fetches a revision of their source, has
// it compiled, compares it with the cluster, asks the guards, and applies it
// through the packages that the command line uses.
//
// When something goes wrong, what was last applied stays as it is, and the
// NodePlan's conditions say what is wrong. The package knows nothing of machines:
// Karpenter makes and deletes nodes for the objects, also while a NodePlan is
// suspended or fails.
package gitops

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Finalizer keeps a deleted NodePlan until its objects are deleted or orphaned.
const Finalizer = "lkeplan.dev/finalizer"

// Sources finds the sources of NodePlans; originCluster is one.
type Sources interface {
	// Find returns the present revision of a NodePlan's source. The error is a
	// deniedError if the NodePlan may not use the source.
	Find(ctx context.Context, plan *lkeplanv1alpha1.NodePlan) (sourceArtifact, error)
}

// Compiler compiles a directory; compile.Child is one.
type Compiler interface {
	// Compile returns what a directory compiles to. The error is
	// compile.ErrTimeout or compile.ErrMemory where it takes more than it may; an
	// error in the configuration is in the answer.
	Compile(ctx context.Context, req compile.Request) (compile.Answer, error)
}

// Cluster is the cluster as a NodePlan changes it; kube.Cluster is one.
type Cluster interface {
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error)
	Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	Delete(ctx context.Context, obj map[string]any) error
	Orphan(ctx context.Context, obj map[string]any) error
}

// orElse returns a duration, or another one where it is not set.
func orElse(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return other
	}
	return d.Duration
}

// timeout is how long each step of a reconciliation may take.
func timeout(plan *lkeplanv1alpha1.NodePlan) time.Duration {
	return orElse(plan.Spec.Timeout, min(max(plan.Spec.Interval.Duration, 30*time.Second), 5*time.Minute))
}
