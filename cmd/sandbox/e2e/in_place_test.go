package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLabelsChangeInPlace: a label of fifty nodes changes twenty times while pods run on them, and the controller is
// killed after each change. No node is replaced, and at the end all labels are right: of NodeClaims, Nodes and LKE
// pools. A change of a label that is not in the list still replaces nodes.
func TestLabelsChangeInPlace(t *testing.T) {
	t.Parallel()
	const team, tier = "example.com/team", "example.com/tier"
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	dir := t.TempDir()
	declare := func(value, other string) {
		t.Helper()
		source, err := os.ReadFile("testdata/four/main.lke.hcl")
		if err != nil {
			t.Fatal(err)
		}
		pool := strings.Replace(string(source), "  node_class ", fmt.Sprintf("  labels = { %q = %q, %q = %q }\n  in_place "+
			"= [%q]\n  node_class ",
			team, value, tier, other, team), 1)
		if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(pool), 0o600); err != nil {
			t.Fatal(err)
		}
		s.run("lkeplan", "apply", "--yes", dir)
	}
	declare("v0", "1")
	s.kube(workload("four", 50), "apply", "-f", "-")
	before := s.until("each pod has its node", 5*time.Minute, func(now state) bool {
		return now.running == 50 && now.matched() && len(now.nodes) == 50
	})
	ended := s.watchEnds()
	relabeled := func(value string) func(state) bool {
		return func(now state) bool {
			n := 0
			for _, node := range now.nodes {
				if node.Labels[team] == value {
					n++
				}
			}
			for _, nc := range now.claims {
				if nc.Labels[team] == value {
					n++
				}
			}
			return n == len(now.nodes)+len(now.claims) && len(now.nodes) == 50
		}
	}
	for i := 1; i <= 20; i++ {
		declare(fmt.Sprintf("v%d", i), "1")
		if i%2 == 0 { // it has written some of them
			s.until("a node has the label", time.Minute, func(now state) bool {
				for _, node := range now.nodes {
					if node.Labels[team] == fmt.Sprintf("v%d", i) {
						return true
					}
				}
				return false
			})
		}
		c.kill()
		c = s.startController()
	}
	after := s.until("all have the last value", 3*time.Minute, relabeled("v20"))
	s.until("the LKE pools have the last value", time.Minute, func(state) bool {
		pools, err := s.linodeAPI().Pools(t.Context(), s.clusterID())
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range pools {
			if pool.Labels[team] != "v20" {
				return false
			}
		}
		return len(pools) > 0
	})
	s.never("a node is replaced", func(now state) bool { return len(ended.order()) > 0 || now.deleting() }, c.disruption())
	declare("last", "1")
	s.until("all have the value of a change without a failure", time.Minute, relabeled("last"))
	s.until("an event names the change", time.Minute, func(state) bool {
		return s.told("NodePool", "NodesRelabeled",
			"changed Nodes: 50")
	})
	if len(after.claims) != len(before.claims) {
		t.Errorf("%d claims, and before %d", len(after.claims), len(before.claims))
	}
	declare("last", "2")
	s.until("a label that is not in the list replaces nodes", 3*time.Minute,
		func(state) bool { return len(ended.order()) > 0 })
}

// TestLabelsChangeInPlaceInInstanceMode: also on Linodes without LKE pools, while one of them is still starting. No
// Linode is replaced, and a Linode that is created later has the value, too.
func TestLabelsChangeInPlaceInInstanceMode(t *testing.T) {
	t.Parallel()
	const team = "example.com/team"
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	c := s.startController()
	s.kube(strings.ReplaceAll(file(t, "guide-instance.yaml"), "VERSION", "v1"), "apply", "-f", "-")
	s.merge("nodepool", "default", fmt.Sprintf(`{"metadata":{"annotations":{"lkeplan.dev/in-place":%q}},"spec":{
		"template":{"metadata":{"labels":{%q:"a"}}},"disruption":{"consolidateAfter":"Never"}}}`, team, team))
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(8)
	before := s.until("8 pods run", time.Minute, func(now state) bool { return now.running == 8 && now.joined() })
	ended := s.watchEnds()
	labeled := func(value string) func(state) bool {
		return func(now state) bool {
			for _, node := range now.nodes {
				if node.Labels[team] != value {
					return false
				}
			}
			for _, nc := range now.claims {
				if nc.Labels[team] != value {
					return false
				}
			}
			return now.joined()
		}
	}
	relabel := func(value string) {
		s.merge("nodepool", "default", `{"spec":{"template":{"metadata":{"labels":{"`+team+`":"`+value+`"}}}}}`)
	}
	s.scale(24)
	s.until("another Linode is requested", time.Minute,
		func(now state) bool { return len(now.claims) > len(before.claims) })
	relabel("b")
	c.kill()
	c = s.startController()
	s.until("all nodes have the value", 2*time.Minute, func(now state) bool {
		return now.running == 24 &&
			labeled("b")(now)
	})
	relabel("c")
	s.until("all nodes have the next value", time.Minute, labeled("c"))
	s.never("a node is replaced", func(now state) bool { return len(ended.order()) > 0 || now.deleting() }, c.disruption())
}
