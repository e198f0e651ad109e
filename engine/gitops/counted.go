package gitops

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/trace"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// countedSource are sources whose revisions are found and fetched as steps of a trace.
type countedSource struct {
	Next interface {
		Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error)
	}
}

// Find is that of the next sources.
func (s countedSource) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	finding, found := trace.Step(ctx, trace.Find)
	artifact, err := s.Next.Find(finding, np)
	found(err)
	if fetch := artifact.Fetch; fetch != nil {
		artifact.Fetch = func(ctx context.Context, dir string) error {
			ctx, fetched := trace.Step(ctx, trace.Fetch)
			err := fetch(ctx, dir)
			fetched(err)
			return err
		}
	}
	return artifact, err
}

// countedCluster is a cluster whose applies are counted, and are steps of a trace.
type countedCluster struct {
	objects
	Metrics *reconcilerMetrics
}

// objects are the objects of a cluster; kube.Cluster is one.
type objects interface {
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error)
	Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	Delete(ctx context.Context, obj map[string]any) error
	Orphan(ctx context.Context, obj map[string]any) error
}

// observed returns a cluster whose applies are counted.
func observed(cluster objects, metrics *reconcilerMetrics) countedCluster {
	return countedCluster{cluster, metrics}
}

// Apply is that of the cluster.
func (c countedCluster) Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.objects.Apply)
}

// ApplyForced is that of the cluster.
func (c countedCluster) ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.objects.ApplyForced)
}

// Delete is that of the cluster.
func (c countedCluster) Delete(ctx context.Context, obj map[string]any) error {
	ctx, done := trace.Step(ctx, trace.ApplyObject, attribute(trace.Object, manifest.KeyOf(obj).String()))
	err, outcome := c.objects.Delete(ctx, obj), "deleted"
	if err != nil {
		outcome = "failed"
	}
	done(err, attribute(trace.Outcome, outcome))
	return err
}

func (c countedCluster) count(ctx context.Context, desired, before map[string]any,
	apply func(context.Context, map[string]any, map[string]any) (kube.Outcome, error)) (kube.Outcome, error) {
	began := time.Now()
	ctx, done := trace.Step(ctx, trace.ApplyObject, attribute(trace.Object, manifest.KeyOf(desired).String()))
	did, err := apply(ctx, desired, before)
	outcome := cmp.Or(string(did), "failed")
	done(err, attribute(trace.Outcome, outcome))
	c.Metrics.Applied(outcome, time.Since(began))
	return did, err
}

// countedCompiler is a compiler whose compilations are counted, and are steps of a trace.
type countedCompiler struct {
	Next interface {
		Compile(ctx context.Context, req compile.Request) (compile.Answer, error)
	}
	Metrics *reconcilerMetrics
}

// Compile is that of the next compiler. Of errors in the configuration a trace says only that
// there are some: they may be those of another NodePlan.
func (c countedCompiler) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	began := time.Now()
	ctx, done := trace.Step(ctx, trace.Compile, attribute(trace.Of, subject(req)))
	answer, err := c.Next.Compile(ctx, req)
	outcome, seen := "compiled", err
	switch {
	case err != nil:
		outcome = "failed"
	case answer.Failed:
		outcome, seen = "errors", errors.New("the configuration has errors")
	}
	done(seen)
	if c.Metrics != nil {
		c.Metrics.compile.WithLabelValues(outcome).Observe(time.Since(began).Seconds())
	}
	return answer, err
}

// subject is what is compiled.
func subject(req compile.Request) string {
	switch {
	case req.Plan != nil:
		return "policies"
	case req.IgnoreUndeclared:
		return "last applied"
	}
	return "revision"
}
