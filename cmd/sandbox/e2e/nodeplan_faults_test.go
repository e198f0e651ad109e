package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// applied reports whether a NodePlan is done with a commit.
func applied(commit string) func(*lkeplanv1alpha1.NodePlan) bool {
	return func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && strings.HasSuffix(np.Status.LastAppliedRevision, commit)
	}
}

const nodePlanOfGit = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: default}
spec: {interval: 1s, url: "URL", ref: {branch: main}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: fleet, namespace: default}
spec:
  interval: 10m
  retryInterval: 1s
  path: clusters/dev
  sourceRef: {kind: GitRepository, name: fleet}
`

// TestNodePlanSurvivesFailures: the source is a Git repository, with a module outside of
// the directory. The controller is killed during an apply, and the source is gone for a
// while. For the API server see TestAMinuteWithoutTheAPIServer.
func TestNodePlanSurvivesFailures(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--flux")
	s.installCRDs()
	repo := serveGit(t)
	repo.commit("modules/web/web.lke.hcl",
		"variable \"node_class\" {\n}\n\npool \"web\" {\n  node_class   = var.node_class\n  requirements = { cpu = 4 }\n}\n")
	var many []string
	for i := range 80 {
		many = append(many, fmt.Sprintf("p%02d", i))
	}
	module := "\nmodule \"web\" {\n  source     = \"../../modules/web\"\n  node_class = node_class.default\n}\n"
	first := repo.commit("clusters/dev/main.lke.hcl", fleet(module, many...))
	manifests := strings.ReplaceAll(nodePlanOfGit, "URL", repo.url)
	s.kube(manifests, "apply", "-f", "-")

	running := s.startController()
	for started := time.Now(); len(s.pools()) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(started) > slowdown*time.Minute {
			t.Fatal("timed out waiting for the first pool")
		}
	}
	running.kill()
	if n := len(s.pools()); n == len(many)+1 {
		t.Log("the controller was killed when all pools had been applied already")
	}
	s.startController()
	s.untilPlan("fleet", "the first commit is applied, to its end", applied(first))
	if n := len(s.pools()); n != len(many)+1 {
		t.Errorf("%d pools, want %d", n, len(many)+1)
	}

	// The source is gone: what was last applied stays.
	s.kube("", "delete", "gitrepository", "fleet")
	gone := s.untilPlan("fleet", "it says that the source is gone", because(lkeplanv1alpha1.ReasonArtifactFailed))
	if conditions.IsStalled(gone) || gone.Status.LastAppliedRevision == "" || len(gone.Status.Inventory) != len(many)+2 {
		t.Errorf("without its source: %+v", gone.Status.Conditions)
	}
	s.kube(manifests, "apply", "-f", "-")
	s.untilPlan("fleet", "the source is back", applied(first))
}

// process returns the number of a process of the sandbox.
func (s *sandbox) process(name string) int {
	s.t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range entries {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(raw), "\x00")
		if filepath.Base(args[0]) == name && strings.Contains(string(raw), s.dir) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				s.t.Fatal(err)
			}
			return pid
		}
	}
	s.t.Fatalf("the sandbox runs no %s", name)
	return 0
}
