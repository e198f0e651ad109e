package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestArgoCDApprovesAPlanFromAConfigMap: the NodePlan applies the HCL from the ConfigMap
// that kustomize generates. Argo CD's health script calls it healthy, and its action
// approves what guards refuse.
func TestArgoCDApprovesAPlanFromAConfigMap(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	for _, name := range []string{"rbac.yaml", "tenant.yaml", "approval.yaml"} {
		s.kube("", "apply", "-f", "../../../kube/deploy/"+name)
	}
	s.startController()
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List",
		"items": s.kustomize("../../../examples/argocd/configmap")})
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(raw), `name   = \"prod\"`, `name   = \"sandbox\"`)
	s.kube(here, "apply", "--server-side", "-f", "-")
	s.kube("", "-n", "lkeplan-fleet", "wait", "nodeplan/prod", "--for=condition=Ready", "--timeout=60s")
	if got := s.pools(); len(got) != 2 || !slices.Contains(got, "batch") {
		t.Errorf("pools %v, want batch and general", got)
	}
	for kind, of := range map[string]string{
		"lkeplan.dev/NodePlan":                 "nodeplan/prod",
		"karpenter.sh/NodePool":                "nodepool/batch",
		"karpenter.k8s.linode/LinodeNodeClass": "linodenodeclass/default",
	} {
		health, err := argoHealth(t.Context(), readText(t, customizations+"/"+kind+"/health.lua"), s.live(of))
		if err != nil || health.Status != "Healthy" {
			t.Errorf("Argo CD would show %s as %+v, %v", of, health, err)
		}
	}
	if name := s.kube("", "-n", "lkeplan-fleet", "get", "nodeplan", "prod", "-o",
		"jsonpath={.spec.configMapRef.name}"); !strings.HasPrefix(name, "fleet-") {
		t.Errorf("the NodePlan names the ConfigMap %s, which has no digest in its name", name)
	}
	s.approveLikeArgoCD()
}

// approveLikeArgoCD deletes a pool, which has to be approved, and approves it with the
// action.
func (s *sandbox) approveLikeArgoCD() {
	s.t.Helper()
	const actions = customizations + "/lkeplan.dev/NodePlan/actions/"
	text, _, found := strings.Cut(readText(s.t, "../../../examples/argocd/configmap/main.lke.hcl"),
		"pool \"batch\"")
	if !found {
		s.t.Fatal("the example has no pool batch")
	}
	fewer := map[string]any{"data": map[string]string{"main.lke.hcl": strings.Replace(text, `"prod"`, `"sandbox"`, 1)}}
	s.patch("nodeplan/prod", map[string]any{"spec": map[string]any{"guards": map[string]any{"maxDeletedPools": 0}}})
	s.patch("configmap/"+s.kube("", "-n", "lkeplan-fleet", "get", "nodeplan", "prod", "-o",
		"jsonpath={.spec.configMapRef.name}"), fewer)
	s.kube("", "-n", "lkeplan-fleet", "wait", "nodeplan/prod",
		`--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=ApprovalPending`, "--timeout=60s")

	waiting := s.live("nodeplan/prod")
	health, err := argoHealth(s.t.Context(), readText(s.t, customizations+"/lkeplan.dev/NodePlan/health.lua"), waiting)
	if err != nil || health.Status != "Suspended" || !strings.Contains(health.Message, "waits for approval") {
		s.t.Errorf("Argo CD would show a plan that waits as %+v, %v", health, err)
	}
	disabled, err := argoActions(s.t.Context(), readText(s.t, actions+"discovery.lua"), waiting)
	if off, offered := disabled["approve"]; err != nil || off || !offered {
		s.t.Errorf("approval is not offered: %v, %v", disabled, err)
	}
	approved, err := argoAct(s.t.Context(), readText(s.t, actions+"approve/action.lua"), waiting)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kube("", "create", "namespace", "argocd")
	s.kube("", "create", "serviceaccount", "argocd-server", "-n", "argocd")
	s.kube("", "create", "clusterrole", "argocd-server", "--verb=get,patch", "--resource=*.*")
	s.kube("", "create", "clusterrolebinding", "argocd-server", "--clusterrole=argocd-server",
		"--serviceaccount=argocd:argocd-server")
	change, err := json.Marshal(map[string]any{"status": map[string]any{
		"approval": manifest.Map(approved, "status", "approval"),
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	server := s.account("argocd", "argocd-server")
	patch := []string{"-n", "lkeplan-fleet", "patch", "nodeplan/prod", "--subresource=status", "--type=merge",
		"-p", string(change)}
	said, refused := s.tries(server, "", patch...)
	if mustContain(s.t, said, "requires the verb approve"); !refused {
		s.t.Error("Argo CD approves without the right to")
	}
	s.kube("", "create", "rolebinding", "argocd-approves", "-n", "lkeplan-fleet", "--clusterrole=lkeplan-approve",
		"--serviceaccount=argocd:argocd-server")
	if said, refused := s.tries(server, "", patch...); refused {
		s.t.Errorf("Argo CD cannot approve: %s", said)
	}
	s.kube("", "wait", "nodepool/batch", "--for=delete", "--timeout=60s")
	s.kube("", "-n", "lkeplan-fleet", "wait", "nodeplan/prod", "--for=condition=Ready", "--timeout=60s")
}
