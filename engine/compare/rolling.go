package compare

import (
	"context"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
)

// Rolling says how far the nodes of each pool of head are what the pool and its
// class ask for as they are in the cluster.
func Rolling(ctx context.Context, in View, head compile.Result) ([]plan.Rolling, error) {
	objects, nodes, _, err := read(ctx, head, in, false)
	if err != nil {
		return nil, err
	}
	return plan.Outdated(liveOf(head, Index(objects)), nodes)
}

// liveOf are the objects of head as the cluster has them.
func liveOf(head compile.Result, there map[string]map[string]any) (s plan.State) {
	for _, r := range head.Resources {
		if live := there[kube.Key(r.Manifest)]; live != nil {
			s.Objects = append(s.Objects, config.Object{Addr: r.Addr, Before: r.Before, Manifest: r.Manifest, Defaulted: live, Origins: r.Origins})
		}
	}
	return s
}
