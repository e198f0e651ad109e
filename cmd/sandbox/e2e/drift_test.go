package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestIgnoredDriftIsKept: a field in driftIgnore keeps its edited
// value even if the source changes later, and the status names its manager. The same
// field of another pool, and another field of the same pool, are corrected, and an
// event names the manager.
func TestIgnoredDriftIsKept(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	text := strings.ReplaceAll(fleet("", "a", "b"), "  weight ", "  limits = { cpu = 100 }\n  weight ")
	s.source("fleet", text)
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME",
		"fleet")+"  driftIgnore: [{kind: NodePool, name: a, paths: [/spec/weight]}]\n", "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	weight := func(pool string) int32 { return *s.poolsByName()[pool].Spec.Weight }
	left := []lkeplanv1alpha1.DriftStatus{{Object: "NodePool a", Path: "spec.weight", Owners: []string{"kubectl-edit"}}}
	reported := func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && cmp.Equal(np.Status.Drift, left)
	}

	s.edit("a", `{"spec":{"weight":50}}`)
	s.untilPlan("fleet", "the status says whose the weight is", reported)

	s.edit("b", `{"spec":{"weight":50}}`)
	s.untilPlan("fleet", "the weight of the other pool is set back", func(np *lkeplanv1alpha1.NodePlan) bool {
		return reported(np) && weight("b") == 10 && s.setBack("NodePool b: spec.weight was set to 50")
	})

	s.edit("a", `{"spec":{"weight":60,"limits":{"cpu":"5"}}}`)
	s.untilPlan("fleet", "of two fields of one edit the one is set back", func(np *lkeplanv1alpha1.NodePlan) bool {
		limit := s.kube("", "get", "nodepool", "a", "-o", "jsonpath={.spec.limits.cpu}")
		return reported(np) && limit == "100" && s.setBack("NodePool a: spec.limits.cpu was set to 5")
	})
	if got := weight("a"); got != 60 {
		t.Errorf("the weight that was to be left is %d", got)
	}

	s.source("fleet", strings.ReplaceAll(text, "= 10\n", "= 30\n"))
	s.untilPlan("fleet", "a commit changes only the other pool", func(np *lkeplanv1alpha1.NodePlan) bool {
		return reported(np) && weight("b") == 30
	})
	if got := weight("a"); got != 60 || s.setBack("NodePool a: spec.weight was set to 60") {
		t.Errorf("after a commit the weight that was to be left is %d", got)
	}

	s.kube("", "patch", "nodeplan", "fleet", "--type=json", "-p", `[{"op":"remove","path":"/spec/driftIgnore"}]`)
	s.untilPlan("fleet", "without driftIgnore the weight is set to what the source says",
		func(np *lkeplanv1alpha1.NodePlan) bool {
			return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(np.Status.Drift) == 0 && weight("a") == 30 &&
				s.setBack("NodePool a: spec.weight was set to 60")
		})
}
