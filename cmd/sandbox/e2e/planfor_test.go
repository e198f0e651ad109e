package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/go-cmp/cmp"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const nodePlanOfPullRequest = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: pr-7, namespace: default}
spec: {interval: 1s, url: "URL", ref: {branch: pr-7}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: pr-7, namespace: default}
spec:
  interval: 10m
  path: clusters/dev
  sourceRef: {kind: GitRepository, name: pr-7}
  mode: PlanOnly
  planFor: {name: fleet}
  deletionPolicy: Delete
`

// TestAPullRequestsPlanIsWhatItsMergeDoes: a NodePlan with planFor shows what a merge
// changes and prunes, judged by the guards that were last applied. An approval of the
// merge takes its digest. After the merge its plan is empty, and its deletion deletes
// nothing.
func TestAPullRequestsPlanIsWhatItsMergeDoes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--flux")
	s.installCRDs()
	s.startController()
	repo := serveGit(t)
	const path = "clusters/dev/main.lke.hcl"
	first := repo.commit(path, fleet("", "a", "b", "c"))
	git(t, repo.dir, "checkout", "-qb", "pr-7")
	asked := repo.commit(path, strings.Replace(fleet("", "a"), "= 10", "= 20", 1))
	pullRequest := strings.ReplaceAll(nodePlanOfPullRequest, "URL", repo.url)
	said, refused := s.tries(s.env["KUBECONFIG"], strings.Replace(pullRequest, "PlanOnly", "Apply", 1), "apply", "-f", "-")
	if mustContain(t, said, "planFor is only for the mode PlanOnly"); !refused {
		t.Error("a NodePlan that applies may plan for another")
	}
	s.kube(pullRequest, "apply", "-f", "-")
	orphan := s.untilPlan("pr-7", "the NodePlan of planFor is missing", because(lkeplanv1alpha1.ReasonDependency))
	mustContain(t, conditions.GetMessage(orphan, meta.ReadyCondition), "default/fleet")

	s.kube(strings.ReplaceAll(nodePlanOfGit, "URL", repo.url), "apply", "-f", "-")
	s.untilPlan("fleet", "the main branch is applied", applied(first))
	before := s.applied()
	planned := s.untilPlan("pr-7", "the plan is one of changes to the main branch",
		func(np *lkeplanv1alpha1.NodePlan) bool {
			// The conditions of a status are patched before its other fields.
			return because(lkeplanv1alpha1.ReasonPlanned)(np) && np.Status.Plan != nil && np.Status.Plan.Create == 0
		}).Status
	if got := planned.Plan; got.Update != 1 || got.Delete != 2 || !strings.HasSuffix(got.Revision, asked) {
		t.Errorf("the plan of the pull request is %+v", got)
	}
	if len(planned.Guards) == 0 || !strings.Contains(planned.Guards[0].Message, "would delete 2 pools") {
		t.Errorf("guards of the pull request's plan: %v", planned.Guards)
	}
	s.untilPlan("pr-7", "an event warns of the plan", func(*lkeplanv1alpha1.NodePlan) bool {
		said := s.kube("", "get", "events", "-o", "jsonpath={.items[*].message}",
			"--field-selector", "type=Warning,reason=ApprovalPending,involvedObject.name=pr-7")
		return saying("<!-- lkeplan:default/fleet:", "`pool.b` | **deleted**", "`pool.c` | **deleted**", "weight  10 → 20",
			planned.Plan.Digest)(said)
	})
	if diff := cmp.Diff(before, s.applied()); diff != "" {
		t.Errorf("a plan has changed objects (-before +after):\n%s", diff)
	}
	if np := s.nodePlan("fleet"); !conditions.IsTrue(np, meta.ReadyCondition) {
		t.Errorf("next to a plan the NodePlan that applies is %+v", np.Status.Conditions)
	}

	s.approve("pr-7")
	s.untilPlan("pr-7", "the plan is allowed", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonPlanned)(np) && np.Status.Guards[0].Status == "allowed"
	})
	git(t, repo.dir, "checkout", "-q", "main")
	git(t, repo.dir, "merge", "-q", "--ff-only", "pr-7")
	s.untilPlan("fleet", "the merge is applied, approved as it was before", applied(asked))
	s.untilPlan("pr-7", "nothing is left to change", func(np *lkeplanv1alpha1.NodePlan) bool {
		left := np.Status.Plan
		return because(lkeplanv1alpha1.ReasonPlanned)(np) && left.Create+left.Update+left.Delete == 0 &&
			left.Summary == "no changes"
	})

	before = s.applied()
	s.kube("", "delete", "nodeplan", "pr-7", "--timeout=30s")
	if diff := cmp.Diff(before, s.applied()); diff != "" || len(s.pools()) != 1 {
		t.Errorf("the deletion of a plan has changed objects (-before +after):\n%s", diff)
	}
}

// saying reports whether a text has all parts.
func saying(parts ...string) func(string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}
}
