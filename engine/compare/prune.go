package compare

import (
	"context"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// addRemovals adds to a comparison the left-over pools with nodes to drain, with the marks of their removal: those
// whose removal starts, and draining pools whose marks have to be updated. The node classes of both stay.
func (c *Comparison) addRemovals(ctx context.Context, over []config.Object, nodes []plan.Node, by *applies,
	now time.Time) error {
	changes := c.Plan.ByKey()
	var pools []map[string]any
	for _, o := range over {
		change, changed := changes[o.Key()]
		if o.Kind() != schemas.Pool.Object.Kind || changed && change.Prune != plan.StartRemoval {
			continue
		}
		t, err := removalTarget(ctx, o.Manifest, nodes, by, now)
		if err != nil {
			return err
		}
		c.Condemned, pools = append(c.Condemned, t), append(pools, o.Manifest)
	}
	used := plan.RemovalClasses(pools)
	c.Plan.Changes = slices.DeleteFunc(c.Plan.Changes, func(change plan.Change) bool {
		return change.Kind == schemas.NodeClass.Object.Kind && change.Action == plan.Delete && used[change.Name]
	})
	return nil
}

func removalTarget(ctx context.Context, live map[string]any, nodes []plan.Node, by *applies,
	now time.Time) (Target, error) {
	own := slices.DeleteFunc(slices.Clone(nodes), func(n plan.Node) bool { return n.Pool != manifest.Name(live) })
	desired, err := plan.MarkRemoval(rollout.WithoutWaveBudget(live), own, now) // a first wave holds back no node that drains
	if err != nil {
		return Target{}, err
	}
	t := Target{Desired: desired, Live: live}
	if t.stored, _, err = by.stored(ctx, live, desired); err != nil {
		return t, err
	}
	t.Unchanged = kube.Same(live, t.stored)
	return t, nil
}

// withRemovals marks the nodes whose pools are draining, or will be.
func withRemovals(p plan.Plan, nodes []plan.Node) []plan.Node {
	pools := map[string]bool{}
	for _, c := range p.Changes {
		pools[c.Name] = pools[c.Name] || c.Prune == plan.StartRemoval
	}
	for _, r := range p.Rolling {
		pools[r.Pool] = pools[r.Pool] || r.Condemned != nil
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Condemned = pools[nodes[i].Pool]
	}
	return nodes
}

// removingPools returns the draining pools of a cluster that head neither declares nor releases, regardless of who
// removed them.
func removingPools(objects []map[string]any, head compile.Result) (pools []config.Object) {
	stays := map[manifest.Key]bool{}
	for _, o := range head.Objects {
		stays[o.Key()] = true
	}
	for _, r := range head.Removed {
		stays[r.Key()] = stays[r.Key()] || !r.Delete
	}
	for _, obj := range objects {
		key := manifest.KeyOf(obj)
		_, draining := plan.ReadRemoval(obj)
		if !draining || key.Kind != schemas.Pool.Object.Kind || stays[key] || manifest.Deleted(obj) {
			continue
		}
		pools = append(pools, liveObject(obj))
	}
	return pools
}

// Released returns the last state of an object that lkeplan stops managing: without marks that keep a pool from
// creating or replacing nodes. It is nil if the object has none.
func Released(live map[string]any) map[string]any {
	if _, draining := plan.ReadRemoval(live); !draining && !rollout.InFirstWave(live) {
		return nil
	}
	return rollout.WithoutWaveBudget(plan.ReleaseRemoval(live))
}
