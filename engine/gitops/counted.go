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

// countedSource wraps Sources. Finding and fetching a revision are steps of a trace.
type countedSource struct{ Next Sources }

// Find implements Sources.
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

// countedCluster wraps a Cluster. Its requests are counted, and are steps of a trace.
type countedCluster struct {
	Cluster
	Metrics *reconcilerMetrics
}

// Apply implements Cluster.
func (c countedCluster) Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.Cluster.Apply)
}

// ApplyForced implements Cluster.
func (c countedCluster) ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	return c.count(ctx, desired, before, c.Cluster.ApplyForced)
}

// Delete implements Cluster.
func (c countedCluster) Delete(ctx context.Context, obj map[string]any) error {
	ctx, done := trace.Step(ctx, trace.ApplyObject, attribute(trace.Object, manifest.KeyOf(obj).String()))
	err, outcome := c.Cluster.Delete(ctx, obj), "deleted"
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

// countedCompiler wraps a Compiler. Its compilations are counted, and are steps of a trace.
type countedCompiler struct {
	Next    Compiler
	Metrics *reconcilerMetrics
}

// Compile implements Compiler. A trace does not contain the errors in the configuration, because
// it may belong to another NodePlan.
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
