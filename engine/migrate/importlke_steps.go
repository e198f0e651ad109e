package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/linode/capacity"
)

// Steps are lines on what to do: how the NodePools differ, and how to move the pods of one
// LKE pool after the other, within PodDisruptionBudgets.
func (m LKEImport) Steps(c LKECluster) (lines []string) {
	for _, p := range m.Passed {
		line := fmt.Sprintf("Skipped LKE pool %d: Karpenter already manages it.", p.ID)
		if c.Address != "" && !c.External {
			line += " It is in the state of Terraform, which deletes it with the next terraform apply."
		}
		lines = append(lines, line)
	}
	for _, key := range m.Left {
		lines = append(lines, key+" is in the cluster with another spec. It stays, and its name is not used.")
	}
	for _, p := range m.Pools {
		for _, note := range p.Notes {
			lines = append(lines, fmt.Sprintf("pool %s: %s", p.NodePool, note))
		}
	}
	if len(m.Pools) == 0 {
		return append(append(lines, m.inTerraform(c)...), "There is nothing to move.")
	}
	lines = append(lines, "Apply the pools while the controller runs: no node is created before a pod needs one. Then "+
		"move the pods of one LKE pool after the other, with the steps below. Draining respects "+
		"PodDisruptionBudgets; pods without one are down until they are rescheduled.")
	keep := "Keep the LKE pool that the controller runs on, and skip its steps: it cannot run on nodes that it has to " +
		"create first."
	if c.enterprise() {
		keep += " A cluster of LKE Enterprise can be without LKE pools."
	}
	lines = append(lines, keep)
	lines = append(lines, m.inTerraform(c)...)
	for _, p := range m.Pools {
		lines = append(lines, p.steps(c)...)
	}
	return lines
}

// inTerraform is what to write in Terraform before lkeplan creates a node or an LKE pool is deleted, by the rules with which
// the provider linode/linode reads LKE pools: those without a tag of external_pool_tags belong to the cluster, and are
// deleted if it does not declare them.
func (m LKEImport) inTerraform(c LKECluster) []string {
	if c.Address == "" {
		return nil
	}
	var lines []string
	if c.OldProvider {
		lines = append(lines, "The provider linode/linode of this state is older than external_pool_tags. Upgrade it first: terraform "+
			"init -upgrade.")
	}
	if c.External {
		lines = append(lines, "Before you delete an LKE pool, write this in Terraform. Otherwise the next terraform apply creates it again:",
			"", "    # in "+c.Address)
	} else {
		var tags []string
		for _, tag := range append(slices.Clone(c.ExternalTags), capacity.Mark) {
			tags = append(tags, syntax.Quote(tag))
		}
		lines = append(lines, "Before lkeplan creates its first node, write this in Terraform. Otherwise the next terraform apply deletes the LKE pools "+
			"of lkeplan, and creates deleted ones again:", "", "    # in "+c.Address, "    external_pool_tags = "+syntax.List(tags))
	}
	lines = append(lines, "    lifecycle {", "      ignore_changes = [pool, k8s_version] # add these to what it has", "    }", "")
	if len(m.Passed) > 0 {
		lines = append(lines, "Then run terraform apply -refresh-only: it takes the LKE pools of lkeplan out of the state. A pool "+
			"without the tag lkeplan gets it from the controller; wait for that.")
	}
	return append(lines, "Do not change k8s_version of "+c.Address+" in Terraform: it recycles every node of the cluster at once, "+
		"without draining, even with external_pool_tags and ignore_changes = [pool]. Upgrade by linode-cli lke "+
		"cluster-update --k8s_version.")
}

// forget is what removes an LKE pool that is a resource from Terraform and keeps it at Linode. A removed block takes no
// address with a key of count or for_each.
func forget(address string) []string {
	if strings.HasSuffix(address, "]") {
		return []string{
			"    terraform state rm '" + strings.ReplaceAll(address, "'", `'\''`) + "'",
			"    remove its key from for_each or count before the next terraform apply",
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

// steps move the pods of one LKE pool: its nodes are cordoned, its pods are evicted within
// their budgets, and then the LKE pool is deleted.
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
