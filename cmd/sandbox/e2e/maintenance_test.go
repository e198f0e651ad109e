package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestNodesAreReplacedBeforeMaintenance: of eight nodes five have maintenance. They are replaced, the earliest first and
// one at a time, as the budget of the pool says, though the API is down and the controller is killed in between. The
// other three stay, and no more than one pod is missing at any time.
func TestNodesAreReplacedBeforeMaintenance(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	args := []string{"--maintenance-every", "3s"}
	first := s.startController(args...)
	s.run("lkeplan", "apply", "--yes", "testdata/maintenance")
	s.kube(workload("four", 8), "apply", "-f", "-")
	s.kube(`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "four"},
		"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "four"}}}}`, "apply", "-f", "-")
	before := s.until("each pod has its node", 3*time.Minute, func(now state) bool {
		return now.running == 8 && now.matched() && len(now.nodes) == 8
	})
	pods, ended := s.watchPods(), s.watchEnds()

	// The host of the first node has the last maintenance.
	var want []int
	start := time.Now().Add(20 * time.Hour)
	for i, nc := range before.claims[:5] {
		instance := nodeclaim.InstanceOf(nc.Status.ProviderID)
		s.announce(instance, "power_off_on", start.Add(-time.Duration(i)*time.Hour), i == 4)
		want = append(want, instance)
	}
	slices.Reverse(want)
	s.until("two nodes are replaced", 4*time.Minute, func(state) bool { return len(ended.order()) >= 2 })
	s.inject(`{"name": "down", "path": "/account/maintenance", "status": 500}`)
	first.kill()
	second := s.startController(args...)
	after := s.until("the five are replaced", 6*time.Minute, func(now state) bool {
		return len(ended.order()) == 5 && now.running == 8 && now.matched() && len(now.nodes) == 8
	})
	if diff := cmp.Diff(want, ended.order()); diff != "" {
		t.Errorf("nodes were replaced in another order (-want +got):\n%s", diff)
	}
	if most := ended.atOnce(); most != 1 {
		t.Errorf("%d nodes were replaced at a time, and the budget allows 1", most)
	}
	if n := pods.fewest(); n < 7 {
		t.Errorf("at one moment %d of 8 pods were ready", n)
	}
	for _, node := range after.nodes {
		if hasTaint(node, maintenance.Taint) || upcoming(node) {
			t.Errorf("node %s still has maintenance", node.Name)
		}
	}
	if !s.told("NodeClaim", maintenance.ReasonEmergency, "(emergency)") ||
		!s.told("NodeClaim", maintenance.ReasonScheduled, "power_off_on, starts at") {
		t.Error("no events name the maintenance")
	}
	if !s.told("LinodeNodeClass", maintenance.ReasonUnknown, "may not be replaced") {
		t.Error("no event says that Linode does not list maintenance")
	}
	s.never("another node is replaced", func(state) bool { return len(ended.order()) > 5 }, second.disruption())
}

// TestMaintenanceIsShownOnly: the class does not ask to replace nodes, so that the Node has a condition and no more.
func TestMaintenanceIsShownOnly(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController("--maintenance-every", "3s")
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.kube(workload("four", 1), "apply", "-f", "-")
	now := s.until("the pod runs", 2*time.Minute, func(now state) bool { return now.running == 1 && now.matched() })
	s.maintained(now)
	s.never("the node is tainted or replaced", func(now state) bool {
		return len(now.claims) != 1 || now.deleting() || hasTaint(now.nodes[0], maintenance.Taint)
	}, c.disruption())
}

// maintained announces maintenance of the host of the first node, and waits until the Node shows it.
func (s *sandbox) maintained(now state) {
	s.t.Helper()
	nc := now.claims[0]
	s.announce(nodeclaim.InstanceOf(nc.Status.ProviderID), "migrate", time.Now().Add(48*time.Hour), false)
	s.until("the Node has the condition", time.Minute, func(now state) bool {
		return slices.ContainsFunc(now.nodes, func(n corev1.Node) bool {
			return n.Spec.ProviderID == nc.Status.ProviderID && upcoming(n)
		})
	})
}

// upcoming reports whether a Node has the condition of upcoming maintenance.
func upcoming(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == maintenance.Condition && c.Status == corev1.ConditionTrue
	})
}

// announce announces maintenance of the host of an instance.
func (s cloud) announce(instance int, kind string, start time.Time, emergency bool) {
	s.t.Helper()
	s.linodeCall(http.MethodPost, "/simulator/maintenance", map[string]any{
		"linode": instance, "type": kind, "start": start.UTC(), "emergency": emergency,
	}, nil)
}

// ends are the claims that are deleted from now on, by their instances, and how many of them are drained at a time. A
// budget of Karpenter does not count a claim any more once its node is drained and Linode deletes the machine.
type ends struct {
	mu        sync.Mutex
	seen      map[string]bool
	instances []int
	draining  map[string]bool
	most      int
}

func (s cluster) watchEnds() *ends {
	s.t.Helper()
	e := &ends{seen: map[string]bool{}, draining: map[string]bool{}}
	s.follow(&karpv1.NodeClaimList{}, func(o client.Object, deleted bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		nc := o.(*karpv1.NodeClaim)
		if nc.DeletionTimestamp.IsZero() {
			return
		}
		if !e.seen[nc.Name] {
			e.seen[nc.Name] = true
			e.instances = append(e.instances, nodeclaim.InstanceOf(nc.Status.ProviderID))
		}
		delete(e.draining, nc.Name)
		if !deleted && !nc.StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating).IsTrue() {
			e.draining[nc.Name] = true
		}
		e.most = max(e.most, len(e.draining))
	})
	return e
}

// order are the instances in the order in which their claims were deleted.
func (e *ends) order() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.instances)
}

// atOnce is the largest number of claims that were drained at a time.
func (e *ends) atOnce() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.most
}
