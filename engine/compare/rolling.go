package compare

import (
	"context"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Rolling says how far the nodes of each pool of head are what the pool and its
// class ask for as they are in the cluster.
func Rolling(ctx context.Context, in View, head compile.Result) ([]plan.Rolling, error) {
	objects, nodes, _, err := read(ctx, head, in, false)
	if err != nil {
		return nil, err
	}
	return plan.Outdated(liveOf(head, index(objects)), nodes)
}

// liveOf are the objects of head as the cluster has them.
func liveOf(head compile.Result, live map[manifest.Key]map[string]any) (s plan.State) {
	for _, o := range head.Resources {
		if o.Defaulted = live[o.Key()]; o.Defaulted != nil {
			s.Objects = append(s.Objects, o)
		}
	}
	return s
}
