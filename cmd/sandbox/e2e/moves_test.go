package e2e

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// movable is a pool whose nodes Karpenter consolidates at once, with guards and further pools.
func movable(guards string, pools ...string) string {
	return `cluster {
  name   = "sandbox"
  region = "us-ord"
}
node_class "default" {}
pool "web" {
  node_class   = node_class.default
  requirements = { class = "dedicated", cpu = between(4, 8) }
  limits       = { cpu = 64 }
  disruption {
    consolidate_after = "5s"
    budget {
      nodes = "100%"
    }
  }
}
` + guards + strings.Join(pools, "")
}

const (
	lockedGuards = `guards {
  max_rolled_nodes = "0"
  protected        = [pool.web]
}
`
	cheaperPool = `pool "cheap" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(1, 8) }
  limits       = { cpu = 64 }
  weight       = 50
  disruption {
    consolidate_after = "5s"
  }
}
`
	taintedPool = `pool "tainted" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(1, 8) }
  weight       = 90
  taints       = ["team=batch:NoSchedule"]
  limits       = { cpu = 64 }
}
`
	twoWebPods = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: "1", memory: 500Mi}}}]
`
)

// foretold are the NodeClaims that a plan of a directory says Karpenter moves.
func (s *sandbox) foretold(dir string) map[string]bool {
	s.t.Helper()
	out, err := s.command(bin(s.t, "lkeplan"), nil, "plan", "-o", "json", dir).Output()
	var said struct {
		Changes []struct {
			Impact struct{ Moves []struct{ Node string } }
		} `json:"resource_changes"`
	}
	if json.Unmarshal(out, &said) != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	nodes := map[string]bool{}
	for _, c := range said.Changes {
		for _, m := range c.Impact.Moves {
			nodes[m.Node] = true
		}
	}
	return nodes
}

// TestACheaperPoolMovesNodesOfAnother: a commit that only adds a pool makes Karpenter replace the nodes of another pool. The plan
// says which, guards and a NodePlan refuse it, and these nodes go. A pool that the pods do not tolerate changes nothing.
func TestACheaperPoolMovesNodesOfAnother(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.source("fleet", movable(lockedGuards))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.kube(twoWebPods, "apply", "-f", "-")
	before := s.until("both pods run", 3*time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	nodes := nodesOf(before, "web")

	s.source("fleet", movable(lockedGuards, taintedPool))
	s.untilPlan("fleet", "a pool that the pods do not tolerate needs no approval", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(s.pools()) == 2
	})
	s.source("fleet", movable(lockedGuards, taintedPool, cheaperPool))
	waiting := s.untilPlan("fleet", "the cheaper pool waits for approval", awaitsApproval)
	if n := waiting.Status.Plan.NodesRemovable; n != len(nodes) {
		t.Errorf("%d nodes are said to be removed, want %d", n, len(nodes))
	}
	s.never("nodes go while the plan waits", func(now state) bool { return !maps.Equal(nodesOf(now, "web"), nodes) }, c.disruption())

	s.approve("fleet")
	s.until("the nodes are replaced by cheaper ones", 5*time.Minute, func(now state) bool {
		return len(nodesOf(now, "web")) == 0 && len(nodesOf(now, "cheap")) == 2 && now.running == 2 && now.matched()
	})
}

// TestPlannedMovesAreTheNodesThatGo: the nodes that a plan says Karpenter moves are those that go after apply, and if it says
// none, none go.
func TestPlannedMovesAreTheNodesThatGo(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", dirOf(t, movable("")))
	s.kube(twoWebPods, "apply", "-f", "-")
	before := s.until("both pods run", 3*time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	nodes := nodesOf(before, "web")
	for _, pool := range []string{taintedPool, strings.Replace(cheaperPool, "\n  weight       = 50", "", 1)} { // tried last
		dir := dirOf(t, strings.Replace(movable("", pool), "limits       = { cpu = 64 }", "limits       = { cpu = 64 }\n  weight = 10", 1))
		if moves := s.foretold(dir); len(moves) > 0 {
			t.Errorf("%v are said to go with\n%s", moves, pool)
		}
		s.run("lkeplan", "apply", "--yes", dir)
		s.never("nodes go that no plan names", func(now state) bool { return !maps.Equal(nodesOf(now, "web"), nodes) }, c.disruption())
	}
	dir := dirOf(t, movable("", cheaperPool))
	moves := s.foretold(dir)
	if diff := gocmp.Diff(nodes, moves); diff != "" {
		t.Fatalf("nodes (-there +said to go)\n%s\n%s", diff, s.ends(0, "diff", "--base", "live", dir))
	}
	said := s.run("lkeplan", "diff", "--base", "live", dir)
	mustContain(t, said, "Karpenter removes or replaces 2", "because of pool.cheap", "replaced by cheap g6-standard-1", "saves $60 a month")
	s.run("lkeplan", "apply", "--yes", dir)
	s.until("those nodes have gone", 5*time.Minute, func(now state) bool {
		return len(nodesOf(now, "web")) == 0 && now.running == 2 && now.matched()
	})
}
