package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// A Linode that has lost the tag of the cluster is in none of its lists. If a NodeClaim has it, it is requested by
// its id. If none has it, it would cost money without any report, so it is found by its label, and counted as a
// machine without a NodeClaim. It is not deleted, because one mark is not enough for that.

// untaggedEvery is the time between two searches for such Linodes.
const untaggedEvery = 10 * time.Minute

func (i *Machines) findUntagged(ctx context.Context) error {
	named, err := i.cfg.API.InstancesNamed(api.LowPriority(ctx), i.cfg.Identity.Name+"-")
	if err != nil {
		return err
	}
	var claims karpv1.NodeClaimList
	if err := i.cfg.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("list the NodeClaims: %w", err)
	}
	untagged := slices.DeleteFunc(named, func(one api.Instance) bool { return !i.cfg.Identity.Lost(one) })
	i.mu.Lock()
	i.untagged = untagged
	i.mu.Unlock()
	for _, one := range untagged {
		if !slices.ContainsFunc(claims.Items, func(nc karpv1.NodeClaim) bool {
			return nodeclaim.InstanceOf(nc.Status.ProviderID) == one.ID || i.cfg.Identity.Node(string(nc.UID)) == one.Label
		}) {
			i.cfg.Log.Warn("a Linode has a label of this cluster but no cluster tag and no NodeClaim: it stays and costs "+
				"money; delete it, or restore the tag so that lkeplan deletes it if it is not "+
				"needed", "id", one.ID, "label", one.Label,
				"tag", i.cfg.Identity.Tag())
		}
	}
	return nil
}

// Lost reports whether a Linode has a label of the cluster's machines and no tag of any cluster.
func (id Identity) Lost(one api.Instance) bool {
	return id.IsNode(one.Label) && !taggedByACluster(one)
}

// taggedByACluster reports whether a Linode has the tag of this or another cluster.
func taggedByACluster(one api.Instance) bool {
	return slices.ContainsFunc(one.Tags, func(tag string) bool { return strings.HasPrefix(strings.ToLower(tag), tagOfCluster) })
}

// known returns the Linodes that were listed last, and those of the cluster that have lost their tag.
func (i *Machines) known() []api.Instance {
	all, _ := i.list.Last()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, one := range i.untagged {
		if byID(all, one.ID) == nil {
			all = append(slices.Clip(all), one)
		}
	}
	return all
}
