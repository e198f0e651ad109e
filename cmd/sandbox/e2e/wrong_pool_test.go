package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wrongPools are NodePools that LKE can never serve, by hand, and why.
var wrongPools = map[string]struct{ requirement, why string }{
	"zones": {`{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-west-2a","eu-west-2b"]}`,
		"the cluster is in region us-ord, which is its only zone"},
	"spot": {`{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]}`, "Linode sells on demand only"},
	"plan": {`{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m5.large"]}`,
		"no plan on Linode's price list is like that"},
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

// TestAWrongPoolStallsNoOther: NodePools that LKE can never serve are not ready, do not
// count when another Deployment's pods are spread over zones, and the pods that ask
// for them hear of it.
func TestAWrongPoolStallsNoOther(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	for name, wrong := range wrongPools {
		s.kube(wrongPool(name, wrong.requirement), "apply", "-f", "-")
	}
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
	s.until("the pods of the wrong pools are told why they wait", 30*time.Second, func(state) bool {
		for name, wrong := range wrongPools {
			if !s.told("Pod", "NodePoolNotReady", "NodePool "+name+" is not ready, and no other is for this pod") ||
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
