package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// people makes accounts of the namespace: an author who may write NodePlans and their
// status, and not approve; and one who may approve.
func (s *sandbox) people() (author, approver string) {
	s.t.Helper()
	s.kube("", "create", "role", "author", "--verb=get,list,watch,create,patch,update",
		"--resource=nodeplans.lkeplan.dev,nodeplans.lkeplan.dev/status")
	for name, role := range map[string]string{"author": "--role=author", "approver": "--clusterrole=lkeplan-approve"} {
		s.kube("", "create", "serviceaccount", name)
		s.kube("", "create", "rolebinding", name, role, "--serviceaccount=default:"+name)
	}
	return s.account("default", "author"), s.account("default", "approver")
}

// approving is an approval by the approver, of the plan that waits, with some changes.
func approving(waiting *lkeplanv1alpha1.NodePlan, change map[string]any) map[string]any {
	guards := []string{}
	for _, g := range waiting.Status.Guards {
		if g.Permission != "" {
			guards = append(guards, g.Permission)
		}
	}
	approval := map[string]any{
		"planDigest": waiting.Status.Plan.Digest, "guards": guards, "maxNodes": 100,
		"expires": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "by": "system:serviceaccount:default:approver",
	}
	for field, value := range change {
		approval[field] = value
	}
	return map[string]any{"approval": approval}
}

// TestOnlyApproversCanApprove: with the policy of kube/deploy/approval.yaml, the right to write a NodePlan
// does not let a user approve a plan, nor does any commit; users with the verb approve in their own name, and
// changes nothing else of the status. An approval is for one plan, for some guards, until it ends, and once.
func TestOnlyApproversCanApprove(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	for _, name := range []string{"rbac", "approval"} {
		s.kube("", "apply", "-f", "../../../kube/deploy/"+name+".yaml")
	}
	s.startController()
	author, approver := s.people()
	s.source("fleet", fleet("", "a", "b", "c"))
	manifest := strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet")
	s.kube(manifest, "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.source("fleet", fleet("", "a"))
	waiting := s.untilPlan("fleet", "it waits for approval", awaitsApproval)

	// The API server ignores the status in a commit, even if the user who applies it has all rights.
	raw, err := json.Marshal(approving(waiting, nil))
	if err != nil {
		t.Fatal(err)
	}
	s.kube(manifest+"status: "+string(raw)+"\n", "apply", "-f", "-")
	s.kube(manifest+"status: "+string(raw)+"\n", "apply", "--server-side", "--force-conflicts", "-f", "-")
	if np := s.nodePlan("fleet"); np.Status.Approval != nil {
		t.Errorf("a commit has brought its own approval: %+v", np.Status.Approval)
	}
	bySpec := manifest + "  approval: {planDigest: " + waiting.Status.Plan.Digest + "}\n"
	if said, refused := s.tries(author, bySpec, "apply", "-f", "-"); !refused {
		t.Errorf("the spec has room for an approval: %s", said)
	}

	s.refusesApprovals(author, approver, waiting)
	s.liftsNothing(approver, waiting)

	said, code := s.lkeplan(approver, "nodeplan", "approve", "-n", "default", "fleet", "--yes",
		"--reason", "They are empty.")
	if mustContain(t, said, "max_deleted_pools:pool.b", waiting.Status.Plan.Digest); code != 0 {
		t.Fatalf("who may approve cannot: %s", said)
	}
	applied := s.untilPlan("fleet", "the approved plan is applied", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(s.pools()) == 1 && np.Status.Approval == nil
	})
	if by := applied.Status.History[0].Approval; by == nil || by.By != "system:serviceaccount:default:approver" {
		t.Errorf("the history does not say who has approved: %+v", applied.Status.History)
	}
	said, _ = s.lkeplan(approver, "nodeplan", "history", "-n", "default", "fleet")
	mustContain(t, said, "system:serviceaccount:default:approver", "They are empty.")

	// What a directory would do is what the NodePlan then does.
	diff := []string{"nodeplan", "diff", "-n", "default", "fleet", pooled(t, "", "a", "d"), "--detailed-exitcode"}
	said, code = s.lkeplan(s.env["KUBECONFIG"], diff...)
	if mustContain(t, said, "pool.d"); code != 2 || strings.Contains(said, "pool.a") {
		t.Errorf("exit code %d:\n%s", code, said)
	}

	// The same again takes another one.
	s.source("fleet", fleet("", "a", "b", "c"))
	s.untilPlan("fleet", "the pools are there again", func(*lkeplanv1alpha1.NodePlan) bool { return len(s.pools()) == 3 })
	s.source("fleet", fleet("", "a"))
	s.untilPlan("fleet", "it waits again", awaitsApproval)
	if _, code := s.lkeplan(s.env["KUBECONFIG"], "nodeplan", "reconcile", "-n", "default", "fleet"); code != 3 || len(s.pools()) != 3 {
		t.Errorf("what waits for approval exits with %d, and leaves pools %v", code, s.pools())
	}
}

// refusesApprovals shows what the API server does not take.
func (s *sandbox) refusesApprovals(author, approver string, waiting *lkeplanv1alpha1.NodePlan) {
	s.t.Helper()
	type fields = map[string]any
	for _, step := range []struct {
		what, as string
		status   map[string]any
		says     string // "": it is taken
	}{
		{"an author approves", author, approving(waiting, fields{"by": "system:serviceaccount:default:author"}),
			"requires the verb approve"},
		{"an author approves in the name of another", author, approving(waiting, nil), "requires the verb approve"},
		{"an author changes the rest", author, fields{"lastAppliedDigest": "sha256:0"},
			"only the controller can change the status of a NodePlan"},
		{"an approver changes the rest", approver,
			fields{"inventory": []any{fields{"id": "_a_karpenter.sh_NodePool", "v": "v1"}}},
			"only the controller can change the status of a NodePlan"},
		{"an approver changes both", approver, fields{"lastAppliedDigest": "sha256:0",
			"approval": approving(waiting, fields{"planDigest": "sha256:" + strings.Repeat("0", 64)})["approval"]},
			"only the controller can change the status of a NodePlan"},
		{"an approver approves in the name of another", approver, approving(waiting, fields{"by": "jane"}),
			"must be the user who approves"},
		{"an approval without an end", approver, approving(waiting, fields{"expires": nil}), "expires"},
		{"an approval without a number of nodes", approver, approving(waiting, fields{"maxNodes": nil}), "maxNodes"},
	} {
		raw, err := json.Marshal(fields{"status": step.status})
		if err != nil {
			s.t.Fatal(err)
		}
		var said string
		var refused bool
		s.until(step.what+": the policy is in force", 20*time.Second, func(state) bool { // it takes a moment
			said, refused = s.tries(step.as, "", "patch", "nodeplan", "fleet", "--subresource=status", "--type=merge",
				"--dry-run=server", "-p", string(raw))
			return refused
		})
		mustContain(s.t, said, step.says)
	}
	said, code := s.lkeplan(author, "nodeplan", "approve", "-n", "default", "fleet", "--yes")
	if mustContain(s.t, said, "requires the verb approve"); code != 1 {
		s.t.Errorf("an author who may not approve exits with %d", code)
	}
}

// liftsNothing gives approvals that are not for what waits.
func (s *sandbox) liftsNothing(approver string, waiting *lkeplanv1alpha1.NodePlan) {
	s.t.Helper()
	for _, step := range []struct {
		what   string
		change map[string]any
		says   string
	}{
		{"another plan", map[string]any{"planDigest": "sha256:" + strings.Repeat("0", 64)}, "is for another plan, " +
			"sha256:000"},
		{"one that has ended", map[string]any{"expires": "2026-01-01T00:00:00Z"}, "expired at 2026-01-01T00:00:00Z"},
		{"another guard", map[string]any{"guards": []string{"protected:pool.b"}}, "does not lift max_deleted_pools:pool.b"},
	} {
		raw, err := json.Marshal(map[string]any{"status": approving(waiting, step.change)})
		if err != nil {
			s.t.Fatal(err)
		}
		if said, refused := s.tries(approver, "", "patch", "nodeplan", "fleet", "--subresource=status", "--type=merge", "-p",
			string(raw)); refused {
			s.t.Fatalf("%s: %s", step.what, said)
		}
		s.untilPlan("fleet", "it says that the approval is for "+step.what, func(np *lkeplanv1alpha1.NodePlan) bool {
			return strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), step.says)
		})
	}
	if got := s.pools(); len(got) != 3 {
		s.t.Errorf("pools %v were deleted by an approval that is not for them", got)
	}
}

// TestAnApprovalIsForSoManyNodes: more of them than it names wait for another.
func TestAnApprovalIsForSoManyNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	const none = "\nguards {\n  max_rolled_nodes = 0\n}\n"
	s.source("fleet", fleet(none, "a", "b"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("b", 1))
	s.until("a pod runs", time.Minute, func(now state) bool { return now.running == 1 && now.matched() })
	s.source("fleet", fleet(none, "a"))
	s.untilPlan("fleet", "its node waits for approval", awaitsApproval)

	raw, err := json.Marshal(map[string]any{"status": approving(s.nodePlan("fleet"), map[string]any{"maxNodes": 0})})
	if err != nil {
		t.Fatal(err)
	}
	s.kube("", "patch", "nodeplan", "fleet", "--subresource=status", "--type=merge", "-p", string(raw))
	waiting := s.untilPlan("fleet", "it says that the approval is for fewer", func(np *lkeplanv1alpha1.NodePlan) bool {
		return awaitsApproval(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition),
			"covers at most 0 nodes, and the plan deletes, drains, replaces or may remove 1")
	})
	if got := s.pools(); len(got) != 2 {
		t.Errorf("pools %v: one was deleted by an approval for fewer nodes", got)
	}
	s.approve("fleet", "--digest", waiting.Status.Plan.Digest, "--max-nodes", "1")
	s.untilPlan("fleet", "the approved plan is applied", func(np *lkeplanv1alpha1.NodePlan) bool {
		return np.Status.Approval == nil && np.Status.History[0].Approval != nil && np.Status.History[0].Approval.MaxNodes == 1
	})
}
