package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
)

// wrongPools are NodePools that LKE can never serve, by hand, and why.
var wrongPools = map[string]struct{ requirement, why string }{
	"zones": {`{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-west-2a","eu-west-2b"]}`,
		"the cluster is in region us-ord, which is its only zone"},
	"spot": {`{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]}`, "Linode sells on demand only"},
	"plan": {`{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m5.large"]}`,
		"no plan type that Linode sells in us-ord matches them"},
}

func wrongPool(name, requirement string) string {
	return fmt.Sprintf(`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":%q},
		"spec":{"template":{"spec":{
		"nodeClassRef":{"group":"karpenter.k8s.linode","kind":"LinodeNodeClass","name":"default"},
		"requirements":[%s]}}}}`, name, requirement)
}

// spread is a Deployment that spreads its pods over zones.
const spread = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"spread"},"spec":{"replicas":3,
	"selector":{"matchLabels":{"app":"spread"}},"template":{"metadata":{"labels":{"app":"spread"}},"spec":{
	"terminationGracePeriodSeconds":0,"topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule",
	"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"spread"}}}],
	"containers":[{"name":"c","image":"registry.k8s.io/pause:3.10","resources":{"requests":{"cpu":"3"}}}]}}}}`

// TestInvalidPoolDoesNotBlockOthers: NodePools that LKE can never serve are not ready, do not
// count when another Deployment's pods are spread over zones, and the pods that request them hear of it.
func TestInvalidPoolDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	for name, wrong := range wrongPools {
		s.kube(wrongPool(name, wrong.requirement), "apply", "-f", "-")
	}
	several := `{"key":"topology.kubernetes.io/zone","operator":"In","values":["us-ord","us-east"]}`
	s.kube(wrongPool("several", several), "apply", "-f", "-") // for clusters in several regions, and not wrong
	s.until("the wrong pools are not ready", 20*time.Second, func(state) bool {
		for name := range wrongPools {
			pool := s.poolsByName()[name]
			if !pool.StatusConditions().Get("LKEAccepted").IsFalse() || !pool.StatusConditions().Root().IsFalse() {
				return false
			}
		}
		return true
	})
	s.kube(spread, "apply", "-f", "-")
	for name := range wrongPools {
		s.kube(workload(name, 1), "apply", "-f", "-")
	}
	s.until("the pods of the good pool run, spread over the zones that are there", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched()
	})
	s.until("events tell the pods of the wrong pools why they wait", 30*time.Second, func(state) bool {
		for name, wrong := range wrongPools {
			if !s.told("Pod", "NodePoolNotReady", "NodePool "+name+" is not ready, and no other NodePool fits this pod") ||
				!s.told("Pod", "NodePoolNotReady", wrong.why) {
				return false
			}
		}
		return true
	})
	for name, wrong := range wrongPools {
		if pool := s.poolsByName()[name]; !strings.Contains(pool.StatusConditions().Get("ValidationSucceeded").Message,
			wrong.why) {
			t.Errorf("NodePool %s does not say %q: %+v", name, wrong.why, pool.Status.Conditions)
		}
	}
}

// TestForeignPoolBlocksNoDeletion: LKE counts a node of another owner's pool and never lists it. A lost
// machine of lkeplan is still detected, its pods get another, and nodes that are not needed go.
func TestForeignPoolBlocksNoDeletion(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.inject(`{"no_capacity":"hidden","plan":"g6-standard-1"}`)
	foreign := api.PoolSpec{Type: "g6-standard-1", Count: 1}
	if _, err := s.linodeAPI().CreatePool(t.Context(), s.clusterID(), foreign); err != nil {
		t.Fatal(err)
	}
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(8)
	ours := func(now state) bool { // without the foreign slot
		for _, n := range now.nodes {
			if n.Labels["karpenter.sh/initialized"] != "true" || !n.DeletionTimestamp.IsZero() {
				return false
			}
		}
		return len(now.nodes) == len(now.claims) && now.linode.Slots == len(now.claims)+1
	}
	up := s.until("8 pods run on two nodes", time.Minute, func(now state) bool { return now.running == 8 && ours(now) })
	died := up.claims[0]
	s.lose(died)
	s.until("the pods of the dead node run elsewhere", 6*time.Minute, func(now state) bool {
		for _, nc := range now.claims {
			if nc.Name == died.Name {
				return false
			}
		}
		return now.running == 8 && ours(now)
	})
	s.deleteDeployments("inflate")
	s.until("nothing of ours is left", 2*time.Minute, func(now state) bool {
		return len(now.nodes)+len(now.claims) == 0 && now.linode.Slots == 1 && now.linode.Pools == 1
	})
}
