package gitops

import (
	"cmp"
	"context"
	"time"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
)

// countedCluster wraps a Cluster and counts the objects that it applies.
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

func (c countedCluster) count(ctx context.Context, desired, before map[string]any,
	apply func(context.Context, map[string]any, map[string]any) (kube.Outcome, error)) (kube.Outcome, error) {
	began := time.Now()
	did, err := apply(ctx, desired, before)
	c.Metrics.Applied(cmp.Or(string(did), "failed"), time.Since(began))
	return did, err
}

// countedCompiler wraps a Compiler and counts its compilations.
type countedCompiler struct {
	Next    Compiler
	Metrics *reconcilerMetrics
}

// Compile implements Compiler.
func (c countedCompiler) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	began := time.Now()
	answer, err := c.Next.Compile(ctx, req)
	outcome := "compiled"
	switch {
	case err != nil:
		outcome = "failed"
	case answer.Failed:
		outcome = "errors"
	}
	if c.Metrics != nil {
		c.Metrics.compile.WithLabelValues(outcome).Observe(time.Since(began).Seconds())
	}
	return answer, err
}
