package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
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
		if hasTaint(node, maintenance.Taint) || upcoming(after, node.Name) {
			t.Errorf("node %s still has maintenance", node.Name)
		}
	}
	if !s.told("LinodeNodeClass", maintenance.ReasonUnknown, "may not be replaced") {
		t.Error("no event says that Linode does not list maintenance")
	}
	s.never("another node is replaced", func(state) bool { return len(ended.order()) > 5 }, second.disruption())
}

// TestMaintenanceIsShownOnly: the class does not ask to replace nodes, so that the NodeClaim has an annotation and no more.
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

// TestMachinesInMaintenanceAreKept: no budget or pod allows the replacement of nodes before their hosts are maintained.
// Their machines go off, though the API of maintenance is down and the controller is killed meanwhile. The Nodes are not
// ready for a while, and come back; no machine is deleted or created. Canceled maintenance does nothing. One machine does
// not come back: on LKE it is lost after the time that maintenance can take, and otherwise when Linode deletes it.
func TestMachinesInMaintenanceAreKept(t *testing.T) {
	t.Run("lke", func(t *testing.T) { keptInMaintenance(t, "testdata/maintained/lke") })
	t.Run("instance", func(t *testing.T) { keptInMaintenance(t, "testdata/maintained/instance", "--mode", "instance") })
}

func keptInMaintenance(t *testing.T, dir string, mode ...string) {
	t.Parallel()
	s := startSandbox(t, mode...)
	s.installCRDs()
	args := []string{"--maintenance-every", "3s"}
	first := s.startController(args...)
	s.run("lkeplan", "apply", "--yes", dir)
	s.kube(workload("four", 4), "apply", "-f", "-")
	s.kube(strings.Replace(workload("held", 1), `"metadata":{"labels"`,
		`"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"},"labels"`, 1), "apply", "-f", "-")
	whole := func(now state) bool {
		return now.running == 5 && now.pending == 0 && len(now.nodes) == 5 && (len(mode) > 0 && now.joined() || now.matched())
	}
	before := s.until("each pod has its node", 3*time.Minute, whole)
	ended := s.watchEnds()

	// The machines of pool four, then that of pool held. The last of pool four never comes back, and its maintenance
	// explains that for three and a half minutes more.
	slices.SortFunc(before.claims, func(a, b karpv1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	claims := before.claims
	start := time.Now().Add(20 * time.Second)
	limit := time.Now().Add(210 * time.Second)
	const off = 240 * time.Second
	long := metav1.Duration{Duration: off}
	for k, work := range []sim.Work{
		{Type: "reboot", Start: start, Off: long},
		{Type: "power_off_on", Start: start, Off: long, Vacant: true},
		{Type: "power_off_on", Start: start, Off: long},
		{Type: "cold_migration", Start: limit.Add(-maintenance.Lasts), Off: long, Vacant: true, Stays: true},
		{Type: "cold_migration", Start: start, Off: long},
	} {
		work.Linode = nodeclaim.InstanceOf(claims[k].Status.ProviderID)
		s.linodeCall(http.MethodPost, "/simulator/maintenance", work, nil)
	}
	kept, canceled, lost := []karpv1.NodeClaim{claims[0], claims[1], claims[4]}, claims[2], claims[3]
	s.until("the controller knows of all maintenance", time.Minute, func(now state) bool {
		return !slices.ContainsFunc(now.nodes, func(n corev1.Node) bool { return !upcoming(now, n.Name) })
	})
	s.linodeCall(http.MethodDelete, fmt.Sprintf("/simulator/maintenance/%d",
		nodeclaim.InstanceOf(canceled.Status.ProviderID)), nil, nil)
	s.until("the controller knows what is canceled", time.Minute, func(now state) bool {
		return !upcoming(now, canceled.Status.NodeName)
	})

	s.inject(`{"name": "down", "path": "/account/maintenance", "status": 500}`)
	first.kill()
	if now := time.Now(); !now.Before(start) {
		t.Fatalf("the maintenance started %s before the API was down: the test is too slow", now.Sub(start))
	}
	second := s.startController(args...)
	s.until("the nodes are not ready", 4*time.Minute, func(now state) bool {
		return !slices.ContainsFunc(append(kept, lost), func(nc karpv1.NodeClaim) bool {
			return ready(nodeNamed(now, nc.Status.NodeName))
		})
	})
	mustContain(t, s.run("lkeplan", "why", "node", kept[0].Status.NodeName, "-o", "json"),
		"because its host is maintained, lkeplan waits for its machine until")
	if n := nodeNamed(s.state(), canceled.Status.NodeName); !ready(n) {
		t.Error("canceled maintenance started")
	}
	s.never("a node is replaced", func(now state) bool {
		return time.Now().Before(limit) && (len(ended.order()) > 0 || now.linode.Made != 5 || now.linode.Deleted != 0)
	}, second.disruption())
	if len(mode) == 0 && !s.hasEvent("NodeClaim", lost.Name, "MachineNotListed", "maintenance") {
		t.Error("no event says why a machine that is not listed is not lost")
	}
	s.clearFaults()

	s.until("the other nodes are back", 4*time.Minute, func(now state) bool {
		for _, nc := range append(kept, canceled) {
			if n := nodeNamed(now, nc.Status.NodeName); !ready(n) || upcoming(now, n.Name) || hasTaint(n, maintenance.Taint) {
				return false
			}
		}
		return true
	})
	if len(mode) == 0 {
		s.until("the machine that stays off is lost", 4*time.Minute, func(state) bool { return len(ended.order()) > 0 })
		if early := time.Until(limit); early > 0 {
			t.Errorf("the machine was lost %s before its maintenance was over", early)
		}
	} else if ended := ended.order(); len(ended) > 0 { // Linode still lists the machine that stays off
		t.Errorf("nodes were replaced: %v", ended)
	}
	s.lose(lost) // Linode deletes it, and LKE makes another for its slot
	s.until("its node is replaced", 4*time.Minute, func(now state) bool { return whole(now) && now.linode.Live == 5 })
	if diff := cmp.Diff([]int{nodeclaim.InstanceOf(lost.Status.ProviderID)}, ended.order()); diff != "" {
		t.Errorf("other nodes were replaced (-want +got):\n%s", diff)
	}
	after := s.state()
	if after.linode.Made != 6 || after.linode.HourlyCost != before.linode.HourlyCost {
		t.Errorf("%d machines were made, and the cost changed from %s to %s", after.linode.Made,
			before.linode.HourlyCost, after.linode.HourlyCost)
	}
	for _, nc := range append(kept, canceled) {
		same := slices.ContainsFunc(after.claims, func(now karpv1.NodeClaim) bool { return now.UID == nc.UID })
		if n := nodeNamed(after, nc.Status.NodeName); !same || n.UID != nodeNamed(before, n.Name).UID {
			t.Errorf("node %s or its claim is another", n.Name)
		}
	}
}

// nodeNamed is the Node of that name, or none.
func nodeNamed(now state, name string) (node corev1.Node) {
	if k := slices.IndexFunc(now.nodes, func(n corev1.Node) bool { return n.Name == name }); k >= 0 {
		node = now.nodes[k]
	}
	return node
}

// maintained announces maintenance of the host of the first node, and waits until its NodeClaim shows it.
func (s *sandbox) maintained(now state) {
	s.t.Helper()
	nc := now.claims[0]
	s.announce(nodeclaim.InstanceOf(nc.Status.ProviderID), "migrate", time.Now().Add(48*time.Hour), false)
	s.until("the NodeClaim has the maintenance", time.Minute, func(now state) bool {
		return slices.ContainsFunc(now.claims, func(c karpv1.NodeClaim) bool { return c.UID == nc.UID && maintenance.Of(&c) != nil })
	})
}

// upcoming reports whether the NodeClaim of a Node has upcoming maintenance.
func upcoming(now state, node string) bool {
	return slices.ContainsFunc(now.claims, func(nc karpv1.NodeClaim) bool {
		return nc.Status.NodeName == node && maintenance.Of(&nc) != nil
	})
}

// announce announces maintenance of the host of an instance.
func (s cloud) announce(instance int, kind string, start time.Time, emergency bool) {
	s.t.Helper()
	s.linodeCall(http.MethodPost, "/simulator/maintenance",
		sim.Work{Linode: instance, Type: kind, Start: start, Emergency: emergency}, nil)
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
