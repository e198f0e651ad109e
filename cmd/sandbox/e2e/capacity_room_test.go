package e2e

import (
	"testing"
	"time"
)

// TestARestoreWithoutNodeClaimsKeepsTheNodes: they keep running, an event explains what to do, and Nodes
// whose deletion a user allows are drained.
func TestARestoreWithoutNodeClaimsKeepsTheNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(20)
	up := s.whole("the scale-up", 20)

	c.kill()
	for _, nc := range up.claims {
		s.kube("", "patch", "nodeclaim", nc.Name, "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`)
	}
	s.kube("", "delete", "nodeclaims", "--all")
	c = s.startController()
	s.until("an event says what to do", 4*time.Minute, func(state) bool {
		return s.told("NodePool", "NodesOrphaned", "lkeplan.dev/orphaned=delete")
	})
	s.never("a pod or a machine goes", func(now state) bool {
		return now.running != 20 || now.linode.Live != 5 || len(now.nodes) != 5
	}, c.disruption())

	for _, n := range up.nodes[:2] {
		s.kube("", "annotate", "--overwrite", "node", n.Name, "lkeplan.dev/orphaned=delete")
	}
	s.until("two were drained, and the rest stays", 4*time.Minute, func(now state) bool {
		for _, n := range now.nodes {
			if n.Name == up.nodes[0].Name || n.Name == up.nodes[1].Name {
				return false
			}
		}
		return now.running == 20 && now.pending == 0 && now.linode.Live == 5 && len(now.claims) == 2
	})
}
