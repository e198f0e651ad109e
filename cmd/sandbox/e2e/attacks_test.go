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

// TestNoCommitBypassesTheGuards: edits that once were "No changes", and replaced or
// deleted all nodes of a protected pool, and edits that let Karpenter consolidate them. Each is
// refused by the compiler, or held by the guards of the commit before, with the values that
// their variables had; also if the NodePlan is deleted and made again. Karpenter removes nothing,
// not even the node without pods.
func TestNoCommitBypassesTheGuards(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController("--feature-gates", "NodeOverlay")
	const waits = "    policy            = \"WhenEmpty\"\n    consolidate_after = \"2h\"\n"
	commit := func(more, disruption, others string) string {
		return fleet("\nvariable \"max\" {\n  type = string\n}\n\nguards {\n  protected         = [pool.web]\n"+
			"  max_deleted_pools = 0\n  max_deleted_nodes = 0\n  max_rolled_nodes  = var.max\n}\n") + "\npool \"web\" {\n  node_class   = node_class.default\n" +
			"  requirements = { class = \"standard\", cpu = 4 }\n  disruption {\n" + disruption + "  }\n" + more + "}\n" + others
	}
	const same = "  labels = { release = \"1.10\" }\n"
	s.source("fleet", commit(same, waits, ""))
	nodePlan := strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet") + "  variables: {max: \"0\"}\n"
	s.kube(nodePlan, "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 3))
	before := s.until("three pods run", time.Minute, func(now state) bool { return now.running == 3 && now.matched() })
	s.kube("", "scale", "deployment", "web", "--replicas", "2")
	s.until("two pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })

	refused := func(reason, says string) {
		t.Helper()
		s.untilPlan("fleet", reason+": "+says, func(np *lkeplanv1alpha1.NodePlan) bool {
			return because(reason)(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), says)
		})
	}
	for _, attack := range []struct{ more, disruption, others, reason, says string }{
		{"  labels = { release = \"1.1\" }\n", waits, "", lkeplanv1alpha1.ReasonGuarded, "3 of 3 nodes would be replaced"},
		{same + "  manifest = { metadata = { ownerReferences = [{ apiVersion = \"v1\", " +
			"kind = \"Namespace\", name = \"none\", uid = \"00000000-0000-0000-0000-000000000000\" }] } }\n", waits, "",
			lkeplanv1alpha1.ReasonCompileFailed, "A configuration cannot set metadata.ownerReferences"},
		{same + "  metadata {\n    annotations = { \"karpenter.sh/nodepool-hash\" = \"1\" }\n  }\n", waits, "",
			lkeplanv1alpha1.ReasonCompileFailed, "which belongs to Karpenter"},
		{same, "    consolidate_after = \"0s\"\n", "", lkeplanv1alpha1.ReasonGuarded, "3 of 3 nodes may be removed"},
		{same, "    consolidate_after = \"0s\"\n", "\noverlay \"dear\" {\n  requirements     = {}\n" +
			"  price_adjustment = \"+900%\"\n}\n", lkeplanv1alpha1.ReasonGuarded, "1 to create, 1 to update; 3 nodes may be removed"},
	} {
		s.source("fleet", commit(attack.more, attack.disruption, attack.others))
		refused(attack.reason, attack.says)
	}
	const other = "  labels = { release = \"2\" }\n"
	s.source("fleet", commit(other, waits, ""))
	refused(lkeplanv1alpha1.ReasonGuarded, "3 of 3 nodes would be replaced")
	s.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec": {"variables": {"max": "100%"}}}`)
	refused(lkeplanv1alpha1.ReasonGuarded, "3 of 3 nodes would be replaced")
	s.kube("", "delete", "nodeplan", "fleet", "--timeout=30s")
	s.kube(strings.Replace(nodePlan, `"0"`, `"100%"`, 1), "apply", "-f", "-")
	refused(lkeplanv1alpha1.ReasonGuarded, "There is no record of the last applied revision, but its objects are in the cluster")
	s.never("a node goes", func(now state) bool {
		return !maps.Equal(nodesOf(now, "web"), nodesOf(before, "web")) || now.running != 2 || len(drifting(now)) > 0
	}, s.reconciliation("fleet"), c.disruption())
}
