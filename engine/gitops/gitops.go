// Package gitops keeps the cluster as NodePlans say: it fetches a revision of
// their source, has it compiled, compares it with the cluster, asks the guards,
// and applies it through the engine that the command line uses.
//
// What is in force stays in force when something goes wrong, and the NodePlan's
// conditions say what. The package knows nothing of machines: that nodes come
// and go for the objects is Karpenter's, and goes on while a NodePlan is
// suspended or fails.
package gitops

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Annotations and finalizer of a NodePlan.
const (
	// Finalizer keeps a deleted NodePlan until it is settled what becomes of its
	// objects.
	Finalizer = "lkeplan.dev/finalizer"
	// RevisionKey is the key of the revision in the metadata of events, by which
	// notification-controller sets the status of a commit.
	RevisionKey = lkeplanv1alpha1.Group + "/revision"
	// OriginRevisionKey is that of the commit that an artifact was made from.
	OriginRevisionKey = lkeplanv1alpha1.Group + "/originRevision"
	// TokenKey is that of what tells events of the same text apart.
	TokenKey = lkeplanv1alpha1.Group + "/token"
)

// Artifact is one revision of a source.
type Artifact struct {
	Revision string // as Flux writes it: main@sha1:1f2c…
	Origin   string // the commit that it was made from; "" where the source does not say
	Verified bool   // source-controller has verified its signature
	// Fetch puts the files into an empty directory. It takes only regular files,
	// of bounded number and size, and leaves what has another digest than the
	// source says.
	Fetch func(ctx context.Context, dir string) error
}

// Sources finds what a NodePlan is to be made from.
type Sources interface {
	// Find returns the present revision of a NodePlan's source. The error is a
	// DeniedError where the NodePlan may not use it, and a MissingError where
	// there is none yet.
	Find(ctx context.Context, plan *lkeplanv1alpha1.NodePlan) (Artifact, error)
}

// DeniedError says that a NodePlan must not use what it names.
type DeniedError struct{ Reason string }

// Error implements error.
func (e DeniedError) Error() string { return e.Reason }

// MissingError says that a source is not there, or has nothing to fetch yet.
type MissingError struct{ Reason string }

// Error implements error.
func (e MissingError) Error() string { return e.Reason }

// Compiler compiles a directory; compile.Child is one.
type Compiler interface {
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

// inventoryLabel is the value of the label kube.InventoryLabel of a NodePlan's
// objects. A label has 63 characters at most, so that names that are longer
// together end in a digest.
func inventoryLabel(plan *lkeplanv1alpha1.NodePlan) string {
	return kube.LabelValue(kube.NodePlanOwner, plan.Namespace, plan.Name)
}

// orElse is a duration, or another where it is not set.
func orElse(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return other
	}
	return d.Duration
}

// timeout bounds each step of a reconciliation.
func timeout(plan *lkeplanv1alpha1.NodePlan) time.Duration {
	return orElse(plan.Spec.Timeout, min(max(plan.Spec.Interval.Duration, 30*time.Second), 5*time.Minute))
}

var errNoSource = errors.New("the NodePlan names no source")
