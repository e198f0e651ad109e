package e2e

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// limited are the pools of testdata/limits, by the limit that caps them.
var limited = []string{"cost", "cpu", "memory", "nodes", "own"}

// TestNoBurstGoesBeyondALimit asks each of five pools, limited to three nodes, for six
// at once, and kills the controller meanwhile. No pool ever has a fourth node, and
// none is made only to be deleted; when the limits are raised the rest follows.
func TestNoBurstGoesBeyondALimit(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	first := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/limits")
	for _, pool := range limited {
		s.kube(workload(pool, 6), "apply", "-f", "-")
	}
	s.until("some claims wait for their machines", 30*time.Second, func(now state) bool {
		return within(t, now, 3) >= 2
	})
	first.kill()
	second := s.startController()
	s.until("some machines are there", 30*time.Second, func(now state) bool {
		within(t, now, 3)
		return now.linode.Live >= 4
	})
	second.kill()
	third := s.startController()
	s.until("each pool is at its limit", time.Minute, func(now state) bool {
		return within(t, now, 3) == 15 && now.running == 15 && now.matched()
	})
	s.never("there is one node more", func(now state) bool {
		return within(t, now, 3) > 15 || now.linode.Made != 15
	}, third.provisioning())
	for _, name := range limited[:4] {
		s.full(name)
	}
	s.merge("capacitylimit", "nodes", `{"spec":{"nodes":6}}`)
	s.merge("capacitylimit", "cpu", `{"spec":{"cpu":"24"}}`)
	s.merge("capacitylimit", "memory", `{"spec":{"memory":"48Gi"}}`)
	s.merge("capacitylimit", "cost", `{"spec":{"monthlyCost":"288"}}`)
	s.merge("nodepool", "own", `{"spec":{"limits":{"nodes":"6"}}}`)
	up := s.until("all pods run", time.Minute, func(now state) bool {
		within(t, now, 6)
		return now.running == 30 && now.matched()
	})
	if up.linode.Made != 30 {
		t.Errorf("%d instances were made for 30 nodes", up.linode.Made)
	}
}

// within fails the test if a pool exceeds its limit, and returns the number of claims
// with a machine or a pending one.
func within(t *testing.T, now state, most int) int {
	t.Helper()
	byPool, sum := map[string]int{}, 0
	for _, nc := range now.claims {
		if nc.Status.ProviderID != "" {
			byPool[nc.Labels[karpv1.NodePoolLabelKey]]++
			sum++
		}
	}
	for pool, n := range byPool {
		if n > most {
			t.Fatalf("NodePool %s has %d nodes and may have %d; %s", pool, n, most, now)
		}
	}
	if now.linode.Live > most*len(limited) {
		t.Fatalf("LKE has %d instances, and the limits allow %d", now.linode.Live, most*len(limited))
	}
	return sum
}

// full checks the status of a limit that is reached.
func (s *sandbox) full(name string) {
	s.t.Helper()
	s.until("CapacityLimit "+name+" says that it is reached", 10*time.Second, func(state) bool {
		var cl lkeplanv1alpha1.CapacityLimit
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: name}, &cl); err != nil {
			s.t.Fatal(err)
		}
		return meta.IsStatusConditionTrue(cl.Status.Conditions, lkeplanv1alpha1.ConditionReached) &&
			meta.IsStatusConditionTrue(cl.Status.Conditions, lkeplanv1alpha1.ConditionReady) &&
			cl.Status.Used.Nodes != nil && *cl.Status.Used.Nodes == 3
	})
	s.until("an event on the pods names CapacityLimit "+name, 20*time.Second, func(state) bool {
		return s.hasEvent("Pod", name+"-", "", "CapacityLimit "+name+" ") &&
			s.hasEvent("NodePool", name, "", "CapacityLimit "+name+" ")
	})
}

// workload is a Deployment of which each pod needs a node of the pool.
func workload(pool string, pods int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":%d,
		"selector":{"matchLabels":{"app":%q}},"template":{"metadata":{"labels":{"app":%q}},"spec":{
		"terminationGracePeriodSeconds":0,"nodeSelector":{"karpenter.sh/nodepool":%q},
		"containers":[{"name":"c","image":"registry.k8s.io/pause:3.10","resources":{"requests":{"cpu":"3"}}}]}}}}`,
		pool, pods, pool, pool, pool)
}
