package movein

import (
	"fmt"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Steps say what to do, a line each: what the NodePools do not say, and how the pods of one
// LKE pool after the other move over. PodDisruptionBudgets hold all the while.
func (m Moved) Steps(c Cluster) (lines []string) {
	for _, p := range m.Passed {
		lines = append(lines, fmt.Sprintf("LKE pool %d is left alone: a provider of Karpenter keeps it already.", p.ID))
	}
	for _, key := range m.Left {
		lines = append(lines, key+" is in the cluster and says something else. It stays, and its name is not used.")
	}
	for _, p := range m.Pools {
		for _, note := range p.Notes {
			lines = append(lines, fmt.Sprintf("pool %s: %s", p.NodePool, note))
		}
	}
	if len(m.Pools) == 0 {
		return append(lines, "There is nothing to move.")
	}
	lines = append(lines, "Apply the pools while the controller runs: no node is made before a pod needs one. Then "+
		"move the pods of "+
		"one LKE pool after the other. PodDisruptionBudgets hold; a pod that none covers is gone until it runs elsewhere.")
	keep := "Keep the LKE pool that the controller runs on, and leave out its steps: it cannot run on nodes that it has to " +
		"make first."
	if c.Tier == string(catalog.Enterprise) {
		keep += " LKE Enterprise does not keep a last pool: there a cluster can have none."
	}
	lines = append(lines, keep)
	if c.Terraform {
		lines = append(lines,
			"Before the first node: set external_pool_tags = [\"lkeplan\"] in the linode_lke_cluster. Otherwise the next "+
				"terraform apply deletes LKE pools that it does not declare.",
			"Do not change k8s_version of the linode_lke_cluster in Terraform: it recycles every node of the cluster at once, "+
				"without draining, whatever external_pool_tags and ignore_changes = [pool] are. Put k8s_version into "+
				"ignore_changes, and upgrade by linode-cli lke cluster-update --k8s_version.")
	}
	for _, p := range m.Pools {
		lines = append(lines, p.steps(c)...)
	}
	return lines
}

// steps move the pods of one LKE pool: nothing new comes to its nodes, its pods go as
// their budgets let them, and the pool goes when they have.
func (p MovedPool) steps(c Cluster) []string {
	nodes := fmt.Sprintf("-l lke.linode.com/pool-id=%d", p.ID)
	at := fmt.Sprintf("%d %d", c.ID, p.ID)
	lines := []string{fmt.Sprintf("  LKE pool %d, %d of %s, to pool %s:", p.ID, p.Count, p.Plan, p.NodePool)}
	if p.Autoscaled {
		lines = append(lines, "    linode-cli lke pool-update "+at+" --autoscaler.enabled false")
	}
	return append(lines,
		"    kubectl cordon "+nodes,
		"    kubectl drain "+nodes+" --ignore-daemonsets --delete-emptydir-data",
		"    linode-cli lke pool-delete "+at)
}
