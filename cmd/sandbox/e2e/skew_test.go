package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestNeighbouringReleasesWorkTogether is what CHANGELOG.md says of releases that are one
// apart, with the CRDs of the newer one: the command line of one, and the controller of the
// other.
func TestNeighbouringReleasesWorkTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		cli, controller *programs
	}{
		{"the command line is older", previous, built},
		{"the controller is older", built, previous},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t)
			s.installCRDs()
			c, err := s.runProgram(tt.controller.path(t, "controller"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.stop)
			p := pair{sandbox: s, ours: tt.cli.path(t, "lkeplan"), theirs: tt.controller.path(t, "lkeplan")}
			p.nodePlans()
			p.directories()
		})
	}
}

// pair is a cluster with a controller of one release, for a command line of the other.
type pair struct {
	*sandbox
	ours, theirs string // the command line, and that of the controller's release
}

// says runs a command line, which has to end with a code.
func (p pair) says(program string, code int, args ...string) string {
	p.t.Helper()
	cmd := p.command(program, nil, args...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		p.t.Fatalf("lkeplan %s: %v, want the exit code %d:\n%s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

// nodePlans checks a NodePlan, and has it do what a commit cannot.
func (p pair) nodePlans() {
	p.t.Helper()
	about := func(verb string, args ...string) []string {
		return append([]string{"nodeplan", verb, "-n", "default", "fleet"}, args...)
	}
	p.source("fleet", fleet("", "a", "b", "c"))
	p.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	p.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	mustContain(p.t, p.says(p.ours, 0, "nodeplan", "get", "-n", "default"), "fleet", "ready")
	mustContain(p.t, p.says(p.ours, 0, about("diff", pooled(p.t, "", "a", "b", "c"))...), "No changes")
	mustContain(p.t, p.says(p.ours, 3, "apply", "--yes", "--wait", "none", pooled(p.t, "", "a")),
		"NodePlan default/fleet") // each release in its words
	mustContain(p.t, p.says(p.ours, 2, about("diff", pooled(p.t, "", "a", "b", "c", "d"), "--detailed-exitcode")...), "pool.d")

	p.says(p.ours, 0, about("suspend")...)
	p.source("fleet", fleet("", "a"))
	mustContain(p.t, p.says(p.ours, 3, about("resume")...), "2 pools")
	mustContain(p.t, p.says(p.ours, 0, about("get")...), "max_deleted_pools", "pool.b")
	p.says(p.ours, 0, about("approve", "--yes", "--reason", "They are empty.")...)
	p.untilPlan("fleet", "the approved plan is applied", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(p.pools()) == 1
	})
	mustContain(p.t, p.says(p.ours, 0, about("history")...), "They are empty.")
	mustContain(p.t, p.says(p.ours, 0, about("reconcile")...), "default/fleet")
	p.kube("", "delete", "nodeplan", "fleet", "--timeout=30s")
	p.kube("", "delete", "nodepools,linodenodeclasses", "--all", "--timeout=30s")
}

// directories brings the cluster to what directories say, by hand and by a saved plan, and
// checks nodes.
func (p pair) directories() {
	p.t.Helper()
	dir := pooled(p.t, "", "a")
	mustContain(p.t, p.says(p.ours, 0, "apply", "--yes", dir), "2 created")
	p.kube(workload("a", 2), "apply", "-f", "-")
	p.until("each pod has its node", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	mustContain(p.t, p.says(p.ours, 0, "diff", "--base", "live", dir), "No changes")
	mustContain(p.t, p.says(p.ours, 0, "top", "--once"), "2 nodes, ", "ready")
	p.says(p.ours, 0, "status")

	labelled := pooled(p.t, "", "a")
	rewrite(p.t, labelled, "weight       = 10", "weight       = 10\n  labels       = { tier = \"web\" }")
	mustContain(p.t, spaced(p.says(p.ours, 0, "diff", "--base", "live", labelled)), "2 of 2 nodes replaced")
	saved := filepath.Join(p.t.TempDir(), "a.plan")
	p.says(p.ours, 0, "plan", "--out", saved, labelled)
	mustContain(p.t, p.says(p.theirs, 0, "show", saved), "pool.a")
	p.says(p.theirs, 0, "apply", "--wait", "rolled", saved)
	now := p.until("the nodes are replaced, and no more", time.Minute, func(now state) bool {
		return now.running == 2 && now.matched()
	})
	if now.linode.Made != 4 {
		p.t.Errorf("%d machines were made for two nodes that are replaced once", now.linode.Made)
	}
	mustContain(p.t, p.says(p.ours, 0, "diff", "--base", "live", labelled), "No changes")

	seen := filepath.Join(p.t.TempDir(), "cluster.json")
	if err := os.WriteFile(seen, []byte(p.says(p.ours, 0, "snapshot")), 0o600); err != nil {
		p.t.Fatal(err)
	}
	mustContain(p.t, spaced(p.says(p.theirs, 0, "diff", "--base", "dir:"+labelled, "--cluster", "snapshot:"+seen, dir)),
		"2 of 2 nodes replaced")
}
