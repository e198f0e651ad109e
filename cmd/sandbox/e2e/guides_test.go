package e2e

import (
	"os"
	"path/filepath"
	"strings"
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
	}{
		{name: "quickstart", sandbox: []string{"--cluster-name", "quickstart"}},
		{name: "gpu", sandbox: []string{"--region", "us-southeast"}},
		{name: "batch"},
		{name: "critical"},
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
			s.startController(guide.controller...)
			guidetest.Runner{Env: s.shell(), Sandbox: true}.Run(t, "../../../examples", guide.name)
		})
	}
}

// shell is the environment of a person's shell, in which lkeplan and kubectl are there
// and talk to the sandbox.
func (s *sandbox) shell() (env []string) {
	s.t.Helper()
	programs := s.t.TempDir()
	for name, path := range map[string]string{"kubectl": s.kubectl, "lkeplan": bin(s.t, "lkeplan")} {
		if err := os.Symlink(path, filepath.Join(programs, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	cmd := s.command("sh", nil)
	for _, variable := range cmd.Env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			variable = "PATH=" + programs + string(filepath.ListSeparator) + path
		}
		env = append(env, variable)
	}
	return append(env, "LC_ALL=C.UTF-8")
}
