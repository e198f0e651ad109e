package lke

import (
	"context"
	"fmt"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// drain deletes the Nodes of machines that no claim owns.
func (f *Syncer) drain(ctx context.Context, drains []capacity.Drain) {
	for _, d := range drains {
		if err := f.loop.Try(func() error { return f.cfg.Nodes.Drain(ctx, d.Node) }); err != nil {
			f.cfg.Log.Error("could not drain a Node without a NodeClaim", "node", d.Node, "error", err)
			continue
		}
		f.cfg.Log.Info("draining a Node whose NodeClaim is gone", "node", d.Node, "instance", d.Instance)
	}
}

// reportKept says which machines cost and stay though no claim owns them, and what to do.
func (f *Syncer) reportKept(ctx context.Context, kept []capacity.Kept) {
	byPool := map[string][]capacity.Kept{}
	for _, k := range kept {
		what := fmt.Sprintf("Linode %d (%s, %s) of LKE pool %d", k.Instance, k.Plan, f.cfg.Types.Price(k.Plan).AnHour(),
			k.Pool)
		if k.Node == "" {
			what += " has no NodeClaim, and its pool no tag of this controller: another provider has made it, or somebody has " +
				"taken the tag away; it costs until you delete it in Cloud Manager"
			f.cfg.Log.Warn(what, "instance", k.Instance, "pool", k.Pool, "nodepool", k.NodePool)
			f.warnNodePool(ctx, k.NodePool, "LinodeUnowned", what)
			continue
		}
		byPool[k.NodePool] = append(byPool[k.NodePool], k)
		err := f.loop.Try(func() error { return f.cfg.Nodes.Keep(ctx, k.Node) })
		if err != nil { // without it the Node stays while this process leads
			f.cfg.Log.Error("could not note on a Node that it stays", "node", k.Node, "error", err)
		}
	}
	for nodePool, kept := range byPool {
		var hourly catalog.Money
		more := ""
		for _, k := range kept {
			price := f.cfg.Types.Price(k.Plan)
			if hourly += price.Hourly; !price.Known() {
				more = "at least "
			}
		}
		message := fmt.Sprintf("the NodeClaims of %d Nodes are gone, of %s and others, and nobody has deleted the Nodes; "+
			"their Linodes stay and cost %s$%s an hour; where they are to go: kubectl annotate --overwrite node NAME %s=%s",
			len(kept), kept[0].Node, more, hourly, nodeclaim.AnnotationOrphaned, nodeclaim.OrphanDelete)
		f.cfg.Log.Warn("kept machines without NodeClaims", "nodepool", nodePool, "nodes", len(kept), "message", message)
		f.warnNodePool(ctx, nodePool, "NodesOrphaned", message)
	}
}
