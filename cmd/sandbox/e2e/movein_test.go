package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/lke"
)

// budgeted is pods for one LKE pool, one of which may be away at a time.
const budgeted = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  replicas: %[2]d
  selector:
    matchLabels: {app: %[1]s}
  template:
    metadata:
      labels: {app: %[1]s}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {team: %[1]s}
      tolerations: [{key: team, operator: Exists}]
      containers: [{name: a, image: pause, resources: {requests: {cpu: 1}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: %[1]s
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {app: %[1]s}
---
`

// TestLKEPoolsMoveIn: three LKE pools, one with an autoscaler and one with a taint, become
// pools by the steps that import prints. No budget is violated, and nothing is left of them.
func TestLKEPoolsMoveIn(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	linodeAPI, workloads := s.linodeAPI(), ""
	for n, spec := range []api.PoolSpec{
		{Count: 2, Autoscaler: &api.Autoscaler{Enabled: true, Min: 1, Max: 4}},
		{Count: 1, Taints: []api.Taint{{Key: "team", Value: "b", Effect: "NoSchedule"}}},
		{Count: 1},
	} {
		team := string(rune('a' + n))
		spec.Type, spec.Labels = "g6-standard-4", api.Labels{"team": team}
		if _, err := linodeAPI.CreatePool(t.Context(), s.clusterID(), spec); err != nil {
			t.Fatal(err)
		}
		workloads += fmt.Sprintf(budgeted, team, 3*spec.Count)
	}
	s.kube(workloads, "apply", "-f", "-")
	s.until("12 pods run on the nodes of LKE", 2*time.Minute, func(now state) bool {
		return now.running == 12 && len(now.nodes) == 4 && len(now.claims) == 0
	})

	dir := filepath.Join(t.TempDir(), "cluster")
	steps := s.run("lkeplan", "import", "--lke", "--out-dir", dir)
	s.run("lkeplan", "apply", "--yes", dir)
	pods := s.watchPods()
	_, steps, _ = strings.Cut(steps, "\n  LKE pool ")
	for line := range strings.Lines(steps) {
		if command, step := strings.CutPrefix(line, "    "); step {
			s.step(strings.Fields(command))
		}
	}
	after := s.until("12 pods run on nodes of the pools", 2*time.Minute, func(now state) bool {
		return now.running == 12 && now.matched()
	})
	if n := pods.fewest(); n < 9 {
		t.Errorf("at one moment %d pods were ready, and 9 have to be", n)
	}
	for _, node := range after.nodes {
		if taint := hasTaint(node, "team"); taint != (node.Labels["team"] == "b") {
			t.Errorf("node %s of team %s has taints %v", node.Name, node.Labels["team"], node.Spec.Taints)
		}
	}
	pools, err := linodeAPI.Pools(t.Context(), s.clusterID())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pools {
		if !lke.Keeps(p.Tags) {
			t.Errorf("LKE pool %d is left", p.ID)
		}
	}
}

func hasTaint(node corev1.Node, key string) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}

// step does what a line says that import has printed; the Linode CLI is another client of
// the same API.
func (s *sandbox) step(command []string) {
	s.t.Helper()
	var cluster, pool int
	switch line := strings.Join(command, " "); {
	case command[0] == "kubectl":
		s.kube("", command[1:]...)
		return
	case strings.HasPrefix(line, "linode-cli lke pool-update ") && strings.HasSuffix(line, " --autoscaler.enabled false"):
		_, _ = fmt.Sscanf(line, "linode-cli lke pool-update %d %d", &cluster, &pool)
		change := api.PoolChange{Autoscaler: &api.Autoscaler{Min: 1, Max: 4}}
		if err := s.linodeAPI().ChangePool(s.t.Context(), cluster, pool, change); err != nil {
			s.t.Fatal(err)
		}
	case strings.HasPrefix(line, "linode-cli lke pool-delete "):
		_, _ = fmt.Sscanf(line, "linode-cli lke pool-delete %d %d", &cluster, &pool)
		if err := s.linodeAPI().DeletePool(s.t.Context(), cluster, pool); err != nil {
			s.t.Fatal(err)
		}
	default:
		s.t.Fatalf("no test does this step: %s", line)
	}
}
