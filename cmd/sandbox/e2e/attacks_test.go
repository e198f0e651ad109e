package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestNoCommitReplacesNodesPastTheGuards: edits that once were "No changes", and replaced or
// deleted all nodes of a protected pool. Each is refused by the compiler, or held by the guards
// of the commit before, and Karpenter replaces nothing.
func TestNoCommitReplacesNodesPastTheGuards(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	commit := func(more string) string {
		return fleet("\nguards {\n  protected         = [pool.web]\n  max_deleted_pools = 0\n  max_deleted_nodes = 0\n"+
			"  max_rolled_nodes  = \"0\"\n}\n") + "\npool \"web\" {\n  node_class   = node_class.default\n" +
			"  requirements = { class = \"standard\", cpu = 4 }\n  disruption {\n    consolidate_after = \"Never\"\n  }\n" + more + "}\n"
	}
	s.source("fleet", commit("  labels = { release = \"1.10\" }\n"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 3))
	before := s.until("three pods run", time.Minute, func(now state) bool { return now.running == 3 && now.matched() })

	for _, attack := range []struct{ more, reason, says string }{
		{"  labels = { release = \"1.1\" }\n", lkeplanv1alpha1.ReasonGuarded, "3 of 3 nodes"},
		{"  labels = { release = \"1.10\" }\n  manifest = { metadata = { ownerReferences = [{ apiVersion = \"v1\", " +
			"kind = \"Namespace\", name = \"none\", uid = \"00000000-0000-0000-0000-000000000000\" }] } }\n",
			lkeplanv1alpha1.ReasonCompileFailed, "metadata.ownerReferences is not for a configuration to write"},
		{"  labels = { release = \"1.10\" }\n  metadata {\n    annotations = { \"karpenter.sh/nodepool-hash\" = \"1\" }\n  }\n",
			lkeplanv1alpha1.ReasonCompileFailed, "which belongs to Karpenter"},
	} {
		s.source("fleet", commit(attack.more))
		s.untilPlan("fleet", attack.reason+": "+attack.says, func(np *lkeplanv1alpha1.NodePlan) bool {
			return because(attack.reason)(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), attack.says)
		})
	}
	s.never("a node goes", func(now state) bool {
		return !maps.Equal(nodesOf(now, "web"), nodesOf(before, "web")) || now.running != 3 || len(drifting(now)) > 0
	}, s.reconciliation("fleet"), c.disruption())
}
