package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/cmd/sandbox/e2e/programs"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestANewReleaseRollsNothing: the controller of the commit before this one makes 30
// nodes from a NodePlan. That of this commit stands by, as in a rolling upgrade, and takes
// over while 20 more are made: none is lost and none is made twice. It reconciles the same
// revision: no NodeClaim drifts, and no machine is made or deleted.
func TestANewReleaseRollsNothing(t *testing.T) {
	t.Parallel()
	const few, nodes = 30, 50
	elect := []string{"--leader-elect", "true", "--leader-election-namespace", "kube-system"}
	old := buildBefore(t)
	s := startSandbox(t, "--tier", "enterprise", "--list-delay", "1s")
	s.kube("", "apply", "-f", filepath.Join(old, "schemas/crd/"))
	s.kube("", "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
	before, err := s.runProgram(filepath.Join(old, "bin/controller"), elect...)
	if err != nil {
		t.Fatal(err)
	}
	s.source("fleet", releaseFleet)
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is applied", because(lkeplanv1alpha1.ReasonSucceeded))
	s.kube(workload("web", few), "apply", "-f", "-")
	up := s.until("all nodes are there", 5*time.Minute, func(now state) bool {
		return now.running == few && now.matched() && len(now.nodes) == few
	})
	s.installCRDs()
	next := s.startController(elect...)
	s.until("the next release stands by", 30*time.Second, func(state) bool {
		return strings.Contains(next.log.String(), "acquire leader lease")
	})
	s.kube("", "scale", "deployment", "web", "--replicas", strconv.Itoa(nodes))
	s.until("more nodes are asked for", time.Minute, func(now state) bool { return len(now.claims) > few })
	before.stop()
	s.until("all of them are there", 3*time.Minute, func(now state) bool {
		if now.linode.Made > nodes || len(now.claims) > nodes {
			t.Fatalf("more than %d were made: %s", nodes, now)
		}
		return now.running == nodes && now.matched() && len(now.nodes) == nodes
	})
	s.until("each NodeClaim has the hash of this release", 2*time.Minute, func(now state) bool {
		for _, nc := range now.claims {
			if nc.Annotations[linodev1alpha1.AnnotationHashVersion] != linodev1alpha1.HashVersion {
				return false
			}
		}
		return s.class().Annotations[linodev1alpha1.AnnotationHashVersion] == linodev1alpha1.HashVersion
	})
	s.kube("", "annotate", "nodeplan", "fleet", "reconcile.fluxcd.io/requestedAt="+time.Now().Format(time.RFC3339Nano))
	s.untilPlan("fleet", "the same revision is reconciled", because(lkeplanv1alpha1.ReasonSucceeded))
	s.never("a node is replaced for a new release", 45*time.Second, func(now state) bool {
		return len(drifting(now)) > 0 || now.linode.Made != nodes || now.linode.Deleted != 0
	})
	after := claimNames(s.state())
	for name, was := range claimNames(up) {
		if is := after[name]; is != was {
			t.Errorf("NodeClaim %s was %s, and is %s", name, was, is)
		}
	}
}

// releaseFleet is a class and a pool with what hashes are made of.
const releaseFleet = `cluster {
  name   = "sandbox"
  region = "us-ord"
  tier   = "enterprise"
}

node_class "default" {
  tags            = ["team:web"]
  disk_encryption = "enabled"
}

pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  labels       = { "example.com/team" = "web" }
  annotations  = { "example.com/owner" = "web" }
  expire_after = "Never"

  termination_grace_period = "1h"

  disruption {
    consolidate_after = "1h"
  }
}
`

func claimNames(now state) map[string]string {
	names := map[string]string{}
	for _, nc := range now.claims {
		names[nc.Name] = nc.Status.ProviderID + " " + nc.Annotations[karpv1.NodePoolHashAnnotationKey]
	}
	return names
}

// upgradeFrom names another commit than the last one to upgrade from, such as the tag
// of a release.
const upgradeFrom = "LKEPLAN_UPGRADE_FROM"

// buildBefore writes the commit before this one into a directory, and builds its
// controller there. This one is the working tree where it differs from HEAD. The test
// fails in a clone without that commit. What releases must agree on is recorded in
// engine/plan/testdata/hashes, too, for those that have no history.
func buildBefore(t *testing.T) string {
	t.Helper()
	root, err := programs.Repository()
	if err != nil {
		t.Fatal(err)
	}
	commit := "HEAD~1"
	if changed := output(t, "git", "-C", root, "status", "--porcelain", "--untracked-files=no"); changed != "" {
		commit = "HEAD"
	}
	commit = cmp.Or(os.Getenv(upgradeFrom), commit)
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive.tar")
	cmd := exec.Command("git", "-C", root, "archive", "--output", archive, commit)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("there is no commit %s to upgrade from; fetch the history, as with: git fetch --unshallow\n%s", commit, out)
	}
	output(t, "tar", "-xf", archive, "-C", dir)
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	output(t, "go", "build", "-C", dir, "-buildvcs=false", "-o", filepath.Join(dir, "bin")+"/", "./cmd/controller")
	return dir
}

// output runs a program and returns what it writes.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
