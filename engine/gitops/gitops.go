// Package gitops reconciles NodePlans: it fetches and compiles a revision of their source, compares it with the
// cluster, evaluates the guards, and applies it. It uses the same packages for this as the command line.
//
// A commit becomes a PATCH in these steps: Reconciler.Reconcile reads the NodePlan and calls Worker.Work, which finds
// the revision of its source. engine/isolate reads the artifact, and a child process (engine/compile, engine/isolate)
// compiles it, together with the files that were last applied, because their guards apply. engine/compare lists the
// live objects and nodes and asks the API server what an apply would store; engine/plan computes what changes. The
// guards judge the plan, the status records the intent, engine/apply sends the changes in order, and the record keeps
// what was applied. A revision with a rollout is applied in parts, which engine/rollout decides at each
// reconciliation.
//
// If a step fails, what was last applied stays unchanged, and the conditions of the NodePlan explain the failure. The
// package does not handle machines: Karpenter creates and deletes nodes for the objects, even while a NodePlan is
// suspended or fails.
package gitops

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Finalizer keeps a deleted NodePlan until its objects are deleted or orphaned.
const Finalizer = "lkeplan.dev/finalizer"

// Sources finds the sources of NodePlans; originCluster implements it.
type Sources interface {
	// Find returns the current revision of a NodePlan's source. The error is a
	// deniedError if the NodePlan is not allowed to use the source.
	Find(ctx context.Context, plan *lkeplanv1alpha1.NodePlan) (sourceArtifact, error)
}

// Compiler compiles a directory; compile.Child implements it.
type Compiler interface {
	// Compile returns what a directory compiles to. The error is compile.ErrTimeout or
	// compile.ErrMemory if the compilation exceeds its limits. Errors in the configuration
	// are part of the answer.
	Compile(ctx context.Context, req compile.Request) (compile.Answer, error)
}

// Cluster reads and changes the cluster for a NodePlan; kube.Cluster implements it.
type Cluster interface {
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error)
	DryRun(ctx context.Context, desired map[string]any) (map[string]any, []manifest.Conflict, error)
	Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	Delete(ctx context.Context, obj map[string]any) error
	Orphan(ctx context.Context, obj map[string]any) error
}

// orElse returns a duration, or the other one if it is not set.
func orElse(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return other
	}
	return d.Duration
}

// steps is the number of steps of a reconciliation that wait, each for at most its timeout: to find and fetch the
// source, to compile other NodePlans, to apply objects, and until objects are ready.
const steps = 5

// stepTimeout returns the time limit of each step of a reconciliation.
func stepTimeout(plan *lkeplanv1alpha1.NodePlan) time.Duration {
	return orElse(plan.Spec.Timeout, min(max(plan.Spec.Interval.Duration, 30*time.Second), 5*time.Minute))
}
