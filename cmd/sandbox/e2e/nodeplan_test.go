package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// because reports whether the current spec of a NodePlan is reconciled, and its Ready
// condition has the reason.
func because(reason string) func(*lkeplanv1alpha1.NodePlan) bool {
	return func(np *lkeplanv1alpha1.NodePlan) bool {
		working := conditions.GetReason(np, meta.ReconcilingCondition) == meta.ProgressingReason
		return np.Status.ObservedGeneration == np.Generation && !working &&
			conditions.GetReason(np, meta.ReadyCondition) == reason
	}
}

// fleet is a configuration of pools.
func fleet(more string, pools ...string) string {
	text := "cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n" + more
	for _, name := range pools {
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n"+
			"  requirements = { class = \"standard\", cpu = 4 }\n  weight       = 10\n}\n", name)
	}
	return text
}

const nodePlanOfConfigMap = `
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: NAME, namespace: default}
spec:
  interval: 10m
  configMapRef: {name: NAME}
`

// TestANodePlanKeepsTheClusterAsItsSourceSays: a ConfigMap as the source, with bad
// revisions, edits by hand, guards, approval, and the deletion of the NodePlan.
func TestANodePlanKeepsTheClusterAsItsSourceSays(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.source("fleet", fleet("", "a", "b", "c"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	first := s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	if got := s.pools(); len(got) != 3 || len(first.Status.Inventory) != 4 {
		t.Fatalf("pools %v, inventory %v", got, first.Status.Inventory)
	}

	// Others cannot change its objects. What they would not change is no difference.
	other := pooled(t, "", "a")
	const note = "NodePlan default/fleet applies objects of this directory"
	mustContain(t, s.ends(0, "diff", "--base", "live", other), note, "No changes")
	rewrite(t, other, "weight       = 10", "weight = 20")
	mustContain(t, s.ends(0, "diff", "--base", "live", other), note, "1 to update")
	mustContain(t, s.ends(3, "apply", "--yes", "--wait", "none", other), note, "only the NodePlan default/fleet can apply this object")

	// A bad revision changes nothing, and says where it is bad.
	s.source("fleet", fleet("", "a")+"\npool \"b\" {\n  node_class = node_class.nosuch\n}\n")
	bad := s.untilPlan("fleet", "the bad revision is refused", because(lkeplanv1alpha1.ReasonCompileFailed))
	message := conditions.GetMessage(bad, meta.ReadyCondition)
	mustContain(t, message, "main.lke.hcl:", "nosuch")
	if !conditions.IsStalled(bad) || bad.Status.LastAppliedRevision != first.Status.LastAppliedRevision ||
		len(s.pools()) != 3 {
		t.Errorf("after a bad revision: %+v, pools %v", bad.Status, s.pools())
	}

	// Nor does a revision for another cluster.
	s.source("fleet", strings.Replace(fleet("", "a"), `"sandbox"`, `"elsewhere"`, 1))
	s.untilPlan("fleet", "the revision for another cluster is refused", because(lkeplanv1alpha1.ReasonWrongCluster))

	// Two deletions wait for approval; one does not.
	s.source("fleet", fleet("", "a"))
	waiting := s.untilPlan("fleet", "it waits for approval of its plan", awaitsApproval)
	mustContain(t, conditions.GetMessage(waiting, meta.ReadyCondition), "would delete 2 pools")
	if len(s.pools()) != 3 {
		t.Errorf("pools %v were deleted without approval", s.pools())
	}
	s.approve("fleet")
	s.untilPlan("fleet", "the approved plan is applied", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(s.pools()) == 1
	})

	// Edits by hand are reported and corrected.
	s.kube("", "patch", "nodepool", "a", "--type=merge", "--field-manager=kubectl-edit", "-p", `{"spec":{"weight":50}}`)
	s.untilPlan("fleet", "the weight is set back, and an event says whose it was", func(*lkeplanv1alpha1.NodePlan) bool {
		return s.kube("", "get", "nodepool", "a", "-o", "jsonpath={.spec.weight}") == "10" &&
			strings.Contains(s.kube("", "get", "events", "--field-selector", "reason=DriftCorrected"),
				"spec.weight was set to 50 by kubectl-edit, and is reverted")
	})

	// Objects deleted by hand are created again.
	s.kube("", "delete", "nodepool", "a", "--wait=false")
	s.untilPlan("fleet", "the deleted pool is there again", func(np *lkeplanv1alpha1.NodePlan) bool {
		return s.kube("", "get", "nodepool", "a", "--ignore-not-found", "-o",
			"jsonpath={.metadata.deletionTimestamp}{.spec.weight}") == "10"
	})
	s.kube("", "annotate", "nodeplan", "fleet", "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
	s.untilPlan("fleet", "it was reconciled again", func(np *lkeplanv1alpha1.NodePlan) bool {
		return np.Status.LastHandledReconcileAt == "now" && because(lkeplanv1alpha1.ReasonSucceeded)(np)
	})

	// An empty source prunes nothing.
	s.source("fleet", "cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\n")
	s.untilPlan("fleet", "the empty revision is refused", because(lkeplanv1alpha1.ReasonGuarded))

	// Its deletion orphans the objects.
	s.kube("", "delete", "nodeplan", "fleet", "--timeout=30s")
	if got := s.pools(); len(got) != 1 {
		t.Errorf("pools %v after the NodePlan was deleted, want one", got)
	}
}

// awaitsApproval reports whether a NodePlan waits for approval of the plan in its
// status: conditions are written before the rest of the status.
func awaitsApproval(np *lkeplanv1alpha1.NodePlan) bool {
	return because(lkeplanv1alpha1.ReasonGuarded)(np) && np.Status.Plan != nil &&
		strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), np.Status.Plan.Digest)
}
