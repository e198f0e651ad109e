package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// tries runs kubectl with a kubeconfig and returns its output, and whether it was
// refused.
func (s *core) tries(kubeconfig, input string, args ...string) (said string, refused bool) {
	s.t.Helper()
	cmd := s.command(s.kubectl, map[string]string{"KUBECONFIG": kubeconfig}, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

// TestTenantIsolation: with kube/deploy/tenancy.yaml, only accounts of a
// NodePlan's namespace change its objects, and a namespace can be restricted to
// planning.
func TestTenantIsolation(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.kube("", "apply", "-f", "../../../kube/deploy/rbac.yaml")
	tenancy := "../../../kube/deploy/tenancy.yaml"
	s.kube("", "create", "namespace", "lkeplan-system")
	s.kube("", "apply", "-f", tenancy)
	for _, team := range []string{"red", "blue"} {
		s.kube("", "create", "namespace", team)
		s.kube("", "create", "serviceaccount", "lkeplan", "-n", team)
		s.kube("", "create", "clusterrolebinding", team, "--clusterrole=lkeplan-apply", "--serviceaccount="+team+":lkeplan")
		s.kube("", "create", "rolebinding", "edit", "-n", team, "--clusterrole=edit", "--serviceaccount="+team+":lkeplan")
	}
	red, blue := s.account("red", "lkeplan"), s.account("blue", "lkeplan")
	const class = `{"apiVersion":"karpenter.k8s.linode/v1","kind":"LinodeNodeClass",
		"metadata":{"name":"fleet","labels":{"lkeplan.dev/part-of":"nodeplan.OWNER.fleet"}},"spec":{}}`
	ofRed, ofBlue := strings.Replace(class, "OWNER", "red", 1), strings.Replace(class, "OWNER", "blue", 1)
	const record = `{"apiVersion":"lkeplan.dev/v1alpha1","kind":"NodePlanRecord","metadata":{"name":"fleet",
		"namespace":"red"},"path":"."}`
	apply := []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}

	// The API server takes a moment until it enforces a new policy.
	s.until("the policies are enforced", 30*time.Second, func(state) bool {
		_, objects := s.tries(red, ofBlue, append(apply, "--dry-run=server")...)
		return objects
	})
	for _, step := range []struct {
		what, as, input string
		args            []string
		refused         bool
	}{
		{"a team makes what is its own", red, ofRed, apply, false},
		{"a team changes what is its own", red, "", []string{"annotate", "linodenodeclass", "fleet", "a=1"}, false},
		{"another team changes it", blue, "", []string{"annotate", "linodenodeclass", "fleet", "b=2"}, true},
		{"another team takes it over", blue, ofBlue, apply, true},
		{"another team takes the label off", blue, "", []string{"label", "linodenodeclass", "fleet", "lkeplan.dev/part-of-"},
			true},
		{"another team deletes it", blue, "", []string{"delete", "linodenodeclass", "fleet"}, true},
		{"a team gives it away", red, ofBlue, apply, true},
		{"the administrator changes it", s.env["KUBECONFIG"], "", []string{"annotate", "linodenodeclass", "fleet", "c=3"},
			false},
		{"an object without an owner is free", blue, strings.Replace(strings.Replace(class, "nodeplan.OWNER.fleet", "prod", 1),
			`"fleet"`, `"free"`, 1), apply, false},
		{"the controller records what was last applied", s.env["KUBECONFIG"], record, apply, false},
		{"a team reads it", red, "", []string{"get", "nodeplanrecord", "fleet", "-n", "red"}, true},
		{"a team writes another", red, record, apply, true},
		{"a team deletes it", red, "", []string{"delete", "nodeplanrecord", "fleet", "-n", "red"}, true},
		{"a team deletes what is its own", red, "", []string{"delete", "linodenodeclass", "fleet"}, false},
	} {
		said, refused := s.tries(step.as, step.input, step.args...)
		if refused != step.refused {
			t.Errorf("%s: refused %v, want %v\n%s", step.what, refused, step.refused, said)
		}
		if refused && !strings.Contains(said, "belongs to the NodePlan") && !strings.Contains(said, "nodeplanrecords") {
			t.Errorf("%s: refused without saying whose it is:\n%s", step.what, said)
		}
	}
	s.kube("", "delete", "namespace", "red", "--timeout=60s") // with its record
	s.planOnly()
}

// planOnly shows that a namespace can be restricted to planning.
func (s *sandbox) planOnly() {
	s.t.Helper()
	s.kube("", "create", "namespace", "preview")
	s.kube("", "label", "namespace", "preview", "lkeplan.dev/mode=PlanOnly")
	apply := strings.NewReplacer("NAME", "fleet", "namespace: default", "namespace: preview").Replace(nodePlanOfConfigMap)
	said, refused := "", false
	s.until("a NodePlan that applies is refused", 20*time.Second, func(state) bool {
		said, refused = s.tries(s.env["KUBECONFIG"], apply, "apply", "--dry-run=server", "-f", "-")
		return refused
	})
	mustContain(s.t, said, "spec.mode: PlanOnly")
	s.kube(apply+"  mode: PlanOnly\n", "apply", "-f", "-")
	if said, refused := s.tries(s.env["KUBECONFIG"], "", "patch", "nodeplan", "fleet", "-n", "preview", "--type=merge",
		"-p", `{"spec":{"mode":"Apply"}}`); !refused {
		s.t.Errorf("a NodePlan was made to apply: %s", said)
	}
}

// TestNodePlansShareNothingAndWait: of two NodePlans with the same object the one that
// holds it continues, and the other names it until one drops it. One that depends on
// another waits.
func TestNodePlansShareNothingAndWait(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController("--requeue-dependency", "1s")
	s.source("one", fleet("", "a"))
	s.source("two", strings.ReplaceAll(fleet("", "b"), "default", "second"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "two")+"  dependsOn: [{name: one}]\n", "apply", "-f", "-")
	waiting := s.untilPlan("two", "it waits for the other", because(lkeplanv1alpha1.ReasonDependency))
	mustContain(t, conditions.GetMessage(waiting, meta.ReadyCondition), "default/one")
	if got := s.pools(); len(got) != 0 {
		t.Errorf("pools %v were made before what they depend on", got)
	}

	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "one"), "apply", "-f", "-")
	for _, plan := range []string{"one", "two"} {
		s.untilPlan(plan, "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	}

	s.kube("", "patch", "nodeplan", "two", "--type=json", "-p", `[{"op":"remove","path":"/spec/dependsOn"}]`)
	s.source("two", strings.ReplaceAll(fleet("", "b", "a"), "default", "second"))
	newcomer := s.untilPlan("two", "it is in conflict", because(lkeplanv1alpha1.ReasonConflict))
	mustContain(t, conditions.GetMessage(newcomer, meta.ReadyCondition), "NodePool a is managed by NodePlan default/one")
	s.source("one", strings.ReplaceAll(fleet("", "a"), "= 10", "= 20"))
	s.untilPlan("one", "it goes on", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) &&
			s.kube("", "get", "nodepool", "a", "-o", "jsonpath={.spec.weight}") == "20"
	})
	s.source("two", strings.ReplaceAll(fleet("", "b"), "default", "second"))
	s.untilPlan("two", "it is ready again", because(lkeplanv1alpha1.ReasonSucceeded))
	if got := s.pools(); len(got) != 2 {
		t.Errorf("pools %v, want a and b", got)
	}
	s.leavesACopy()
	s.movesAPool()
}

// leavesACopy shows that a copy of a pool, with its label, is reported and stays.
func (s *sandbox) leavesACopy() {
	s.t.Helper()
	pool := s.kube("", "get", "nodepool", "b", "-o", "yaml", "--show-managed-fields")
	s.kube(strings.Replace(pool, "name: b", "name: b-copy", 1), "create", "-f", "-")
	s.kube("", "annotate", "nodeplan", "two", "reconcile.fluxcd.io/requestedAt=copied", "--overwrite")
	s.untilPlan("two", "it reports the copy", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) &&
			strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "NodePool b-copy is kept")
	})
	if got := s.pools(); len(got) != 3 {
		s.t.Errorf("pools %v, want a, b and its copy", got)
	}
	s.kube("", "delete", "nodepool", "b-copy")
}

// movesAPool shows that a pool moves from one source to another without being deleted,
// where a removed block allows it.
func (s *sandbox) movesAPool() {
	s.t.Helper()
	uid := func() string { return s.kube("", "get", "nodepool", "a", "-o", "jsonpath={.metadata.uid}") }
	before := uid()
	s.source("two", strings.ReplaceAll(fleet("", "b", "a"), "default", "second"))
	s.untilPlan("two", "it wants what the other has", because(lkeplanv1alpha1.ReasonConflict))
	s.source("one", fleet(""))
	s.untilPlan("one", "it does not delete what the other wants", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition),
			"Add a removed block with from = pool.a, and with delete = false to hand it over")
	})
	s.source("one", fleet("\nremoved {\n  from   = pool.a\n  delete = false\n}\n"))
	for _, plan := range []string{"one", "two"} {
		s.untilPlan(plan, "the pool has moved", func(np *lkeplanv1alpha1.NodePlan) bool {
			return because(lkeplanv1alpha1.ReasonSucceeded)(np) &&
				!strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "is kept")
		})
	}
	if after := uid(); after != before {
		s.t.Errorf("the pool has the uid %s, and had %s: it was deleted", after, before)
	}
}
