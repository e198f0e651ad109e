package migrate

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/linode/capacity"
)

// Steps say what to do, a line each: what the NodePools do not say, and how the pods of one
// LKE pool after the other move over. PodDisruptionBudgets hold all the while.
func (m LKEImport) Steps(c LKECluster) (lines []string) {
	for _, p := range m.Passed {
		line := fmt.Sprintf("LKE pool %d is left alone: a provider of Karpenter keeps it already.", p.ID)
		if c.Address != "" && !c.External {
			line += " It is in the state of Terraform, which deletes it with the next terraform apply."
		}
		lines = append(lines, line)
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
		return append(append(lines, m.inTerraform(c)...), "There is nothing to move.")
	}
	lines = append(lines, "Apply the pools while the controller runs: no node is made before a pod needs one. Then "+
		"move the pods of one LKE pool after the other, by the steps below or by lkeplan adopt. PodDisruptionBudgets hold; a pod "+
		"that none covers is gone until it runs elsewhere.")
	keep := "Keep the LKE pool that the controller runs on, and leave out its steps: it cannot run on nodes that it has to " +
		"make first."
	if c.enterprise() {
		keep += " LKE Enterprise does not keep a last pool: there a cluster can have none."
	}
	lines = append(lines, keep)
	lines = append(lines, m.inTerraform(c)...)
	for _, p := range m.Pools {
		lines = append(lines, p.steps(c)...)
	}
	return lines
}

// inTerraform is what to write in Terraform before lkeplan makes a node or an LKE pool is deleted, by the rules that
// the provider linode/linode reads LKE pools by: those without a tag of external_pool_tags are the cluster's, and are
// deleted if it does not declare them.
func (m LKEImport) inTerraform(c LKECluster) []string {
	if c.Address == "" {
		return nil
	}
	var lines []string
	if c.OldProvider {
		lines = append(lines, "The provider linode/linode of this state is from before external_pool_tags. Upgrade it first: terraform "+
			"init -upgrade.")
	}
	if c.External {
		lines = append(lines, "Before you delete an LKE pool, write this in Terraform. Otherwise the next terraform apply makes it again:",
			"", "    # in "+c.Address)
	} else {
		lines = append(lines, "Before the first node, write this in Terraform. Otherwise the next terraform apply deletes the LKE pools "+
			"of lkeplan, and makes deleted ones again:", "", "    # in "+c.Address, "    external_pool_tags = [\""+capacity.Mark+"\"]")
	}
	lines = append(lines, "    lifecycle {", "      ignore_changes = [pool, k8s_version]", "    }", "")
	if len(m.Passed) > 0 {
		lines = append(lines, "Then run terraform apply -refresh-only: it takes the LKE pools of lkeplan out of the state. A pool "+
			"without the tag lkeplan gets it from the controller; wait for that.")
	}
	return append(lines, "Do not change k8s_version of "+c.Address+" in Terraform: it recycles every node of the cluster at once, "+
		"without draining, even with external_pool_tags and ignore_changes = [pool]. Upgrade by linode-cli lke "+
		"cluster-update --k8s_version.")
}

// forget is what takes an LKE pool that is a resource out of Terraform and leaves it at Linode. A removed block takes no
// address with a key of count or for_each.
func forget(address string) []string {
	if strings.HasSuffix(address, "]") {
		return []string{
			"    terraform state rm '" + strings.ReplaceAll(address, "'", `'\''`) + "'",
			"    take its key out of for_each or count, before the next terraform apply",
		}
	}
	return []string{
		"    in Terraform, in place of its resource block, and then terraform apply:",
		"      removed {",
		"        from = " + address,
		"        lifecycle {",
		"          destroy = false",
		"        }",
		"      }",
	}
}

// steps move the pods of one LKE pool: nothing new comes to its nodes, its pods go as
// their budgets let them, and the pool goes when they have.
func (p ImportedPool) steps(c LKECluster) []string {
	nodes := fmt.Sprintf("-l lke.linode.com/pool-id=%d", p.ID)
	at := fmt.Sprintf("%d %d", c.ID, p.ID)
	lines := []string{fmt.Sprintf("  LKE pool %d, %d of %s, to pool %s:", p.ID, p.Count, p.Type, p.NodePool)}
	if p.Address != "" {
		lines = append(lines, forget(p.Address)...)
	}
	if p.Autoscaler.Enabled {
		lines = append(lines, "    linode-cli lke pool-update "+at+" --autoscaler.enabled false")
	}
	return append(lines,
		"    kubectl cordon "+nodes,
		"    kubectl drain "+nodes+" --ignore-daemonsets --delete-emptydir-data",
		"    linode-cli lke pool-delete "+at)
}
