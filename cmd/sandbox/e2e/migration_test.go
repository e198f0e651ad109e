package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestAMigrationKeepsNodesUntilOthersAreThere follows the steps of a plan for a
// renamed pool: there is a node at any time, and at the end only the new pool.
func TestAMigrationKeepsNodesUntilOthersAreThere(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(3)
	s.until("the pods run on a node of the old pool", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched() && onlyIn(now, "four")
	})

	before := file(t, "four/main.lke.hcl")
	renamed := written(t, strings.Replace(before, "pool \"four\" {", "pool \"four\" {\n  name = \"quad\"", 1))
	steps := s.steps("dir:testdata/four", renamed)
	if len(steps) != 4 {
		t.Fatalf("%d steps, want 4: %q", len(steps), steps)
	}
	rest, _, _ := strings.Cut(before, "# Plans of 4 CPUs")

	s.run("lkeplan", "apply", "--yes", "--wait", "ready", written(t, rest+steps[0]))
	if now := s.state(); !onlyIn(now, "four") || now.running != 3 {
		t.Errorf("the first step has touched nodes: %s", now)
	}

	// From here on the old pool has the block of the second step.
	both, _, _ := strings.Cut(steps[0], "pool \"four_old\"")
	s.run("lkeplan", "apply", "--yes", "--wait", "none", written(t, rest+both+steps[1]))
	s.until("the pods run on a node of the new pool", 2*time.Minute, func(now state) bool {
		if len(now.nodes) == 0 {
			t.Fatal("there was no node at all")
		}
		return now.running == 3 && now.matched() && onlyIn(now, "quad")
	})

	s.run("lkeplan", "apply", "--yes", "--prune", "--wait", "none", written(t, rest+both+steps[3]))
	s.until("the old pool is gone", 30*time.Second, func(state) bool { return !slices.Contains(s.pools(), "four") })
	if now := s.state(); !onlyIn(now, "quad") || now.running != 3 {
		t.Errorf("the last step has touched nodes: %s", now)
	}
}

// onlyIn reports whether there are nodes, all of one pool.
func onlyIn(now state, pool string) bool {
	for _, c := range now.claims {
		if c.Labels[karpv1.NodePoolLabelKey] != pool {
			return false
		}
	}
	return len(now.claims) > 0
}

// steps are the blocks that a plan's only migration says to write, step by step.
func (s *sandbox) steps(base, dir string) (hcl []string) {
	s.t.Helper()
	cmd := s.command(bin(s.t, "lkeplan"), nil, "diff", "--base", base, "-o", "json", dir)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("lkeplan diff: %v", err)
	}
	var plan struct {
		Migrations []struct {
			Steps []struct{ HCL string }
		}
	}
	if err := json.Unmarshal(out, &plan); err != nil || len(plan.Migrations) != 1 {
		s.t.Fatalf("%d migrations, error %v:\n%s", len(plan.Migrations), err, out)
	}
	for _, step := range plan.Migrations[0].Steps {
		hcl = append(hcl, step.HCL)
	}
	return hcl
}

// written is a directory with one file.
func written(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
