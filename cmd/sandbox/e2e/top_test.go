package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/inspect"
)

// topRights are all that top needs, and no right to watch.
const topRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: top}
rules:
  - {apiGroups: [""], resources: [nodes, pods], verbs: [list]}
  - {apiGroups: [karpenter.sh], resources: [nodeclaims, nodepools], verbs: [list]}
`

// TestTopShowsRunningNodes: with rights to list only, and what it shows is what Linode bills.
func TestTopShowsRunningNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(10)
	up := s.until("10 pods run", 2*time.Minute, func(s state) bool { return s.running == 10 && s.matched() })

	s.kube(topRights, "apply", "-f", "-")
	s.kube("", "create", "serviceaccount", "viewer", "-n", "default")
	s.kube("", "create", "clusterrolebinding", "top", "--clusterrole=top", "--serviceaccount=default:viewer")
	s.env["KUBECONFIG"] = s.account("default", "viewer")
	var screen inspect.Screen
	if err := json.Unmarshal([]byte(s.run("lkeplan", "top", "-o", "json")), &screen); err != nil {
		t.Fatal(err)
	}
	if len(screen.Notes) > 0 || screen.Total.Count != len(up.nodes) || screen.Total.CPU.Requested.N < 10_000 {
		t.Errorf("%d nodes with pods of %d millicores, %q; want %d nodes", screen.Total.Count, screen.Total.CPU.Requested.N,
			screen.Notes, len(up.nodes))
	}
	if got := screen.Total.Cost.Hourly; got != up.linode.HourlyCost {
		t.Errorf("the nodes cost %s an hour, and Linode bills %s", got, up.linode.HourlyCost)
	}
	for _, n := range screen.Nodes {
		if n.State != inspect.StateReady || n.Pool != "four" || n.Plan == "" {
			t.Errorf("node %s is %s, of pool %q and plan %q", n.Name, n.State, n.Pool, n.Plan)
		}
	}
	text := s.run("lkeplan", "top", "--once", "--sort", "cpu")
	for _, part := range []string{"3 nodes, ", "POOL ", "four ", "STATE", up.nodes[0].Name, " ready"} {
		if !strings.Contains(text, part) {
			t.Errorf("top --once does not show %q:\n%s", part, text)
		}
	}
	t.Log("\n" + text)
}
