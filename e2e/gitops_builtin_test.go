package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/e2e/argo"
)

// TestExamplesWithoutFluxOrArgoCD: what kustomize makes of the HCL is applied by
// its NodePlan, under a name of its own, and Argo CD would show it as healthy. The
// server takes the NodePlan of a repository that nobody can reach.
func TestExamplesWithoutFluxOrArgoCD(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.kube("", "create", "namespace", "lkeplan-system")
	for _, name := range []string{"rbac.yaml", "tenant.yaml"} {
		s.kube("", "apply", "-f", "../deploy/"+name)
	}
	said := s.kube("", "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "../examples/gitops-builtin/git")
	for _, want := range []string{"nodeplan.lkeplan.dev/prod", "secret/fleet ", "secret/fleet-ssh"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %s among:\n%s", want, said)
		}
	}

	s.startController()
	raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": s.kustomize("../examples/gitops-builtin/configmap")})
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(raw), `name   = \"prod\"`, `name   = \"sandbox\"`)
	s.kube(here, "apply", "--server-side", "-f", "-")
	s.kube("", "-n", "lkeplan-system", "wait", "nodeplan/prod", "--for=condition=Ready", "--timeout=60s")
	if got := s.pools(); len(got) != 2 || !slices.Contains(got, "batch") {
		t.Errorf("pools %v, want batch and general", got)
	}
	for kind, of := range map[string][]string{
		"lkeplan.dev/NodePlan":                 {"nodeplan", "prod"},
		"karpenter.sh/NodePool":                {"nodepool", "batch"},
		"karpenter.k8s.linode/LinodeNodeClass": {"linodenodeclass", "default"},
	} {
		var live map[string]any
		if err := utiljson.Unmarshal([]byte(s.kube("", append([]string{"-n", "lkeplan-system", "get", "-o", "json"}, of...)...)), &live); err != nil {
			t.Fatal(err)
		}
		health, err := argo.HealthOf(t.Context(), readText(t, customizations+"/"+kind+"/health.lua"), live)
		if err != nil || health.Status != "Healthy" {
			t.Errorf("Argo CD would show %v as %+v, %v", of, health, err)
		}
		t.Logf("%v: %+v", of, health)
	}
	if name := s.kube("", "-n", "lkeplan-system", "get", "nodeplan", "prod", "-o", "jsonpath={.spec.configMapRef.name}"); !strings.HasPrefix(name, "fleet-") {
		t.Errorf("the NodePlan names the ConfigMap %s, which has no digest in its name", name)
	}
}
