package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// admits is a policy that changes objects of a kind whose names have one of these ends.
func admits(name, group, resource, patch string, orders ...string) string {
	for i, o := range orders {
		orders[i] = fmt.Sprintf("object.metadata.name.endsWith('-%s')", o)
	}
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [%[2]s], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [%[3]s]}]}
  matchConditions: [{name: name, expression: "object.metadata.name.startsWith('%[1]s-') && (%[5]s)"}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", %[4]s}]'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
---`, name, group, resource, patch, strings.Join(orders, " || "))
}

// TestGuardsJudgeWhatTheAPIServerStores: a MutatingAdmissionPolicy changes pools and classes of NodePlans, before and after
// their first apply. The guards judge what is stored: a node is replaced only after an approval, and no revision waits for
// what an apply does not do. The command line shows the same, or says that it may not ask the API server.
func TestGuardsJudgeWhatTheAPIServerStores(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	type policy struct {
		name, group, resource, patch string
		rolls, reverts               bool // nodes; if it is removed
	}
	policies := []policy{
		{"label", "karpenter.sh", "nodepools", `path: "/spec/template/metadata/labels/example.com~1by", value: "policy"`, true, true},
		{"limit", "karpenter.sh", "nodepools", `path: "/spec/limits/cpu", value: "20"`, false, true},
		{"disk", "karpenter.k8s.linode", "linodenodeclasses", `path: "/spec/diskEncryption", value: "disabled"`, true, false},
		{"tags", "karpenter.k8s.linode", "linodenodeclasses", `path: "/spec/tags", value: ["policy"]`, false, true},
	}
	orders := []string{"first", "later", "change", "removed"}
	admit := func(orders ...string) {
		for _, p := range policies {
			s.kube(admits(p.name, p.group, p.resource, p.patch, append([]string{}, orders...)...), "apply", "-f", "-")
		}
		s.until("the policies have their effect", time.Minute, func(state) bool {
			for _, p := range policies {
				for _, order := range []string{"first", "later", "change", "removed"} {
					probe := s.kube(configuredAs(p.resource, p.name+"-probe-"+order), "apply", "--dry-run=server", "-o", "yaml", "-f", "-")
					has := strings.Contains(probe, "policy") || strings.Contains(probe, `cpu: "20"`) || strings.Contains(probe, "disabled")
					want := false
					for _, o := range orders {
						want = want || o == order
					}
					if has != want {
						return false
					}
				}
			}
			return true
		})
	}
	source := func(name string, n int, more string) {
		s.source(name, fmt.Sprintf("cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\nguards {\n  max_rolled_nodes = \"0\"\n}\n"+
			"node_class %[1]q {\n  tags = [\"tag-%[2]d\"]\n}\npool %[1]q {\n  node_class = node_class.%[1]s\n  requirements = { class "+
			"= \"standard\", cpu = 4 }\n  labels = { l = \"a\" }\n  limits = { cpu = 40 }\n  weight = %[2]d\n}\n%[3]s", name, n, more))
	}
	generation := func(p policy, name string) int64 {
		kind := "NodePool"
		if p.resource != "nodepools" {
			kind = "LinodeNodeClass"
		}
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion(map[string]string{"NodePool": "karpenter.sh/v1", "LinodeNodeClass": "karpenter.k8s.linode/v1alpha1"}[kind])
		obj.SetKind(kind)
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: name}, obj); err != nil {
			t.Fatal(err)
		}
		return obj.GetGeneration()
	}

	admit("first", "removed")
	for _, p := range policies {
		for _, order := range orders {
			name := p.name + "-" + order
			source(name, 1, "")
			s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", name), "apply", "-f", "-")
			s.kube(workload(name, 1), "apply", "-f", "-")
		}
	}
	before := s.until("each pool has its node", 5*time.Minute, func(now state) bool {
		return now.running == len(policies)*len(orders) && now.matched()
	})

	admit("first", "later", "change")
	for _, p := range policies {
		for _, order := range orders {
			name := p.name + "-" + order
			was, last := generation(p, name), s.nodePlan(name).Status.LastAttemptedRevision
			changes, refused := order == "change" || order == "removed", p.rolls && (order == "change" || order == "removed" && p.reverts)
			if changes {
				source(name, 2, "")
			} else {
				source(name, 1, "# another commit\n")
			}
			got := s.untilPlan(name, "the commit is applied or waits", func(np *lkeplanv1alpha1.NodePlan) bool {
				return np.Status.LastAttemptedRevision != last && (because(lkeplanv1alpha1.ReasonSucceeded)(np) || awaitsApproval(np))
			})
			if waits := awaitsApproval(got); waits != refused || (waits || !changes) && generation(p, name) != was {
				t.Errorf("%s: it waits: %t, generation %d, was %d: %+v", name, waits, generation(p, name), was, got.Status.Conditions)
			}
			if awaitsApproval(got) {
				s.approve(name)
			}
			s.untilPlan(name, "it is applied", because(lkeplanv1alpha1.ReasonSucceeded))
			was = generation(p, name)
			s.kube("", "annotate", "--overwrite", "nodeplan", name, meta.ReconcileRequestAnnotation+"=again")
			s.untilPlan(name, "it is still applied", func(np *lkeplanv1alpha1.NodePlan) bool {
				return np.Status.LastHandledReconcileAt == "again" && because(lkeplanv1alpha1.ReasonSucceeded)(np)
			})
			if is := generation(p, name); is != was {
				t.Errorf("%s: generation %d, and before %d", name, is, was)
			}
		}
	}
	// Only nodes whose replacement was approved are replaced.
	approved := map[string]bool{"label-change": true, "label-removed": true, "disk-change": true}
	s.until("the approved nodes are replaced, and no others", 5*time.Minute, func(now state) bool {
		left := map[string]bool{}
		for _, c := range now.claims {
			left[c.Name] = true
		}
		replaced := 0
		for _, c := range before.claims {
			pool := c.Labels["karpenter.sh/nodepool"]
			if !left[c.Name] && !approved[pool] {
				t.Fatalf("a node of %s was replaced without an approval", pool)
			}
			if !left[c.Name] {
				replaced++
			}
		}
		return replaced == len(approved)
	})

	// The command line: by a dry run, or by a prediction with a note.
	s.kube("", "delete", "nodeplans", "--all")
	s.kube("", "delete", "mutatingadmissionpolicies", "disk", "tags", "limit")
	dir := pooled(t, "", "label-first")
	rewrite(t, dir, "  weight", "  labels = { l = \"a\" }\n  weight")
	s.kube("", "apply", "-f", "../../../kube/deploy/rbac.yaml")
	s.kube("", "create", "serviceaccount", "reader")
	s.kube("", "create", "clusterrolebinding", "reader", "--clusterrole=lkeplan-diff", "--serviceaccount=default:reader")
	const note = "so the API server was not asked for a dry run"
	if said := s.ends(0, "diff", "--base", "live", dir); strings.Contains(said, note) || strings.Contains(said, "example.com/by") {
		t.Errorf("the policy's label counts as a change:\n%s", said)
	}
	said, _ := s.lkeplan(s.account("default", "reader"), "diff", "--base", "live", dir)
	mustContain(t, said, note)
}

// configuredAs is an object of a resource with what the policies change.
func configuredAs(resource, name string) string {
	if resource == "nodepools" {
		return fmt.Sprintf("{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: %s}, spec: {limits: {cpu: 40}, template: "+
			"{metadata: {labels: {l: a}}, spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, "+
			"name: default}}}}}", name)
	}
	return fmt.Sprintf("{apiVersion: karpenter.k8s.linode/v1alpha1, kind: LinodeNodeClass, metadata: {name: %s}, spec: {}}", name)
}
