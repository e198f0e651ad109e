package apply

import (
	"context"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// retaker is the cluster that Taking needs; kube.Cluster is one.
type retaker interface {
	executor
	TakeBack(ctx context.Context, desired, before map[string]any, paths []string) (kube.Outcome, error)
}

// Taking is a cluster in which fields are taken back from their owners,
// by object.
type Taking struct {
	retaker
	fields map[manifest.Key][]plan.Conflict
}

// TakingBack returns a cluster for Run that takes fields back.
func TakingBack(to retaker, fields map[manifest.Key][]plan.Conflict) Taking {
	return Taking{to, fields}
}

// Apply implements executor.
func (t Taking) Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	var paths []string
	for _, taken := range t.fields[manifest.KeyOf(desired)] {
		paths = append(paths, taken.Path)
	}
	if len(paths) == 0 {
		return t.retaker.Apply(ctx, desired, before)
	}
	return t.TakeBack(ctx, desired, before, paths)
}
