package e2e

import (
	"testing"

	"github.com/lkeplan/lkeplan/examples/guidetest"
)

// TestGuidesInASandbox runs what the READMEs of the examples show, with the cluster that
// they are about.
func TestGuidesInASandbox(t *testing.T) {
	t.Parallel()
	for _, guide := range []struct {
		name       string
		sandbox    []string
		controller []string
		tenant     bool // with the accounts that apply a NodePlan
	}{
		{name: "quickstart", sandbox: []string{"--cluster-name", "quickstart"}},
		{name: "gpu", sandbox: []string{"--region", "us-southeast"}},
		{name: "batch"},
		{name: "by-the-clock", tenant: true},
		{name: "critical"},
		{name: "maintenance", controller: []string{"--maintenance-every", "3s"}},
		{name: "office-hours"},
		{name: "cost-caps"},
		{name: "headroom", controller: []string{"--feature-gates", "CapacityBuffer"}},
		{name: "moving-in"},
		{name: "troubleshooting"},
		{name: "upgrade-kubernetes", sandbox: []string{"--tier", "enterprise", "--kubernetes-version", "v1.31.8+lke1", "--list-delay", "1s"}},
	} {
		t.Run(guide.name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, append([]string{"--cluster-name", "prod"}, guide.sandbox...)...)
			s.installCRDs()
			if guide.tenant {
				for _, name := range []string{"rbac.yaml", "tenant.yaml", "approval.yaml"} {
					s.kube("", "apply", "-f", "../../../kube/deploy/"+name)
				}
			}
			s.startController(guide.controller...)
			guidetest.Runner{Env: s.shell(), Sandbox: true}.Run(t, "../../../examples", guide.name)
		})
	}
}
