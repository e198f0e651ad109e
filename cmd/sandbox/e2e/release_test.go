package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestANewReleaseRollsNothing: the chart and the controllers of the release before this one
// make 30 nodes from a NodePlan. The chart is upgraded, and the controllers of this one stand
// by and take over while 100 more pods arrive: no node is lost, and none is made twice. They
// reconcile the same revision: no NodeClaim drifts, and no machine is created or deleted.
func TestANewReleaseRollsNothing(t *testing.T) {
	t.Parallel()
	const few, nodes = 30, 55
	s := startSandbox(t, "--tier", "enterprise", "--list-delay", "1s")
	values := []string{"--namespace", "lkeplan-system", "--set", "settings.clusterName=sandbox,apiToken=none,replicas=0",
		"--set", "gitops.replicas=0," + setImage} // they run outside
	s.helm(append([]string{"install", "lkeplan", filepath.Join(previous.tree(t), chart), "--create-namespace"},
		values...)...)
	s.kube("", "create", "clusterrolebinding", "applies", "--clusterrole=lkeplan-apply",
		"--serviceaccount=lkeplan-system:"+gitopsAccount) // the namespace has no account
	oldCapacity, oldGitOps := s.install(previous)
	s.source("fleet", releaseFleet)
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is applied", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(4 * few)
	up := s.until("all nodes are there", 5*time.Minute, func(now state) bool {
		return now.running == 4*few && now.matched() && len(now.nodes) == few
	})
	s.helm(append([]string{"upgrade", "lkeplan", chart}, values...)...)
	capacity, gitops := s.install(built)
	s.until("the next release stands by", 30*time.Second, func(state) bool {
		return standsBy(capacity) && standsBy(gitops)
	})
	s.scale(4 * nodes)
	s.until("more nodes are asked for", time.Minute, func(now state) bool { return len(now.claims) > few })
	oldGitOps.stop()
	oldCapacity.stop()
	s.until("all of them are there", 3*time.Minute, func(now state) bool {
		if now.linode.Made > nodes || len(now.claims) > nodes {
			t.Fatalf("more than %d were made: %s", nodes, now)
		}
		return now.running == 4*nodes && now.matched() && len(now.nodes) == nodes
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
	s.never("a node is replaced for a new release", func(now state) bool {
		return len(drifting(now)) > 0 || now.linode.Made != nodes || now.linode.Deleted != 0
	}, s.reconciliation("fleet"), capacity.disruption())
	after := claimNames(s.state())
	for name, was := range claimNames(up) {
		if is := after[name]; is != was {
			t.Errorf("NodeClaim %s was %s, and is %s", name, was, is)
		}
	}
}

// standsBy reports whether a controller waits for its lease, or has it.
func standsBy(c *controller) bool { return strings.Contains(c.log.String(), "acquire leader lease") }

// install runs both controllers of a release, as the accounts that its chart has made.
func (s *sandbox) install(release *programs) (capacity, gitops *controller) {
	s.t.Helper()
	run := func(account, part string) *controller {
		c, err := s.runProgram(release.path(s.t, "controller"), "--only", part, "--cluster-name", "sandbox", "--leader-elect",
			"true", "--leader-election-namespace", "lkeplan-system", "--kubeconfig", s.account("lkeplan-system", account))
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(c.stop)
		return c
	}
	return run(controllerAccount, "capacity"), run(gitopsAccount, "gitops")
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
