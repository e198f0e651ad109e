package doctor

import (
	"context"

	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// closed looks for plans that the account may not have, as the controller found out: the API has no list of them. All
// classes say the same, so one finding is enough.
func (p Patient) closed(ctx context.Context) []Finding {
	const of = "account limits"
	classes, err := p.Cluster.List(ctx, "karpenter.k8s.linode/v1", "LinodeNodeClass")
	if err != nil {
		return unknown(of, err)
	}
	for _, class := range classes {
		state, _ := class["status"].(map[string]any)
		conditions, _ := state["conditions"].([]any)
		for _, one := range conditions {
			c, _ := one.(map[string]any)
			if c["type"] != linodev1alpha1.ConditionPlanClosed || c["status"] != "True" {
				continue
			}
			text, _ := c["message"].(string)
			return []Finding{{Warn, of, "LinodeNodeClass " + manifest.Name(class) + ": " + text,
				"ask Linode Support for access to the plan, or take it out of the NodePools"}}
		}
	}
	return nil
}

// unaccepted looks for NodePools that the controller makes no node for, as they are.
func (p Patient) unaccepted(ctx context.Context) (found []Finding) {
	const of = "NodePools"
	pools, err := p.Cluster.List(ctx, "karpenter.sh/v1", "NodePool")
	if err != nil {
		return unknown(of, err)
	}
	for _, pool := range pools {
		state, _ := pool["status"].(map[string]any)
		conditions, _ := state["conditions"].([]any)
		for _, one := range conditions {
			c, _ := one.(map[string]any)
			if c["type"] != linode.ConditionAccepted || c["status"] != "False" {
				continue
			}
			text, _ := c["message"].(string)
			found = append(found, Finding{Warn, of, "NodePool " + manifest.Name(pool) + " gets no node: " + text,
				"correct what it says"})
		}
	}
	return found
}
