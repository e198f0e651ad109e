package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestExamplesWithoutFluxOrArgoCD: what kustomize makes of the HCL is applied by
// its NodePlan, and a change is a ConfigMap of another name. The server takes the
// NodePlan of a repository, which no test can reach.
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
	if name := s.kube("", "-n", "lkeplan-system", "get", "nodeplan", "prod", "-o", "jsonpath={.spec.configMapRef.name}"); !strings.HasPrefix(name, "fleet-") {
		t.Errorf("the NodePlan names the ConfigMap %s, which has no digest in its name", name)
	}
}
