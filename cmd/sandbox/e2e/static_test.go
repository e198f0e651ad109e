package e2e

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/inspect"
)

// TestStaticPoolsWithoutMachinesHoldUpNoOthers: Linode has no machines for one pool with replicas, and
// a limit has no room for another. Pods of a third pool get their nodes, few NodeClaims are created, less
// and less often, and status says why. What is repaired brings the replicas.
func TestStaticPoolsWithoutMachinesHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	ttl := []string{"--unavailable-offerings-ttl", "20s"}
	first := s.startController(ttl...)
	viewer := s.viewer()
	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-4"}`)
	made := s.watchClaims()
	s.run("lkeplan", "apply", "--yes", "--wait", "none", "testdata/static")
	for _, pool := range []string{"fixed", "capped"} {
		s.untilCondition("nodepool/"+pool, "ReplicaFailure=True", "0 of 2 replicas have a machine")
	}
	s.applyAll(workload("plain", 1))
	s.until("a pod of another pool runs", 15*time.Second, func(now state) bool { return now.running == 1 })
	s.until("status says why", toldWithin, func(state) bool {
		found := s.status(viewer)
		return says("fixed", inspect.RemarkReplicas, "0 of 2 replicas")(found) &&
			says("capped", inspect.RemarkReplicas, "CapacityLimit capped")(found)
	})
	if why := strings.Join(strings.Fields(s.asViewer(viewer, "why", "pool", "capped")), " "); !strings.Contains(why,
		"CapacityLimit capped has no capacity") {
		t.Errorf("why says of the pool whose limit is reached: %s", why)
	}

	s.until("each pool has tried three times more", 3*time.Minute, func(state) bool {
		return len(made("fixed")) >= 5 && len(made("capped")) >= 5
	})
	s.scaleTo("plain", 2)
	s.until("another pod of the other pool runs", 15*time.Second, func(now state) bool { return now.running == 2 })
	for _, pool := range []string{"fixed", "capped"} {
		at := made(pool)
		for i, least := range []time.Duration{0, 15 * time.Second, 30 * time.Second, time.Minute} {
			if gap := at[i+1].Sub(at[i]); gap < least-time.Second { // times are whole seconds
				t.Errorf("pool %s tried at %v: after %s, want not before %s", pool, at, gap, least)
			}
		}
		if len(at) > 6 {
			t.Errorf("%d NodeClaims were made for pool %s", len(at), pool)
		}
	}

	before := len(made("fixed"))
	first.stop()
	s.startController(ttl...)
	s.until("a new process tries with one NodeClaim, too", time.Minute, func(state) bool { return len(made("fixed")) > before })
	s.clearFaults()
	s.merge("capacitylimit", "capped", `{"spec":{"monthlyCost":"100"}}`)
	s.until("the replicas are there", 2*time.Minute, func(now state) bool {
		return len(of(now, "fixed")) == 2 && len(of(now, "capped")) == 2 && now.matched()
	})
	s.until("no pool complains", toldWithin, func(state) bool {
		return !strings.Contains(s.kube("", "get", "nodepools", "-o", "yaml"), "ReplicaFailure")
	})
	if n := len(made("fixed")) - before; n > 5 {
		t.Errorf("%d NodeClaims were made for two replicas", n)
	}
}

// TestStaticPoolsFollowTheirReplicas up and down, keep nodes without pods, and replace nodes for a
// change within their limit, also when Linode has no machines for a while.
func TestStaticPoolsFollowTheirReplicas(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController("--unavailable-offerings-ttl", "20s")
	made := s.watchClaims()
	s.run("lkeplan", "apply", "--yes", "--wait", "none", "testdata/static")
	s.merge("nodepool", "capped", `{"spec":{"replicas":0}}`)
	nodes := func(n int, color string) func(state) bool {
		return func(now state) bool {
			if len(now.claims) > 3 || len(now.nodes) > 3 {
				t.Fatalf("the limit is three nodes: %s", now)
			}
			return now.matched() && len(now.nodes) == n && !slices.ContainsFunc(now.nodes, func(n corev1.Node) bool {
				return n.Labels["example.com/color"] != color
			})
		}
	}
	s.until("two nodes are there", time.Minute, nodes(2, ""))
	s.never("a node without pods goes", func(now state) bool { return len(now.claims) != 2 }, c.disruption())
	s.merge("nodepool", "fixed", `{"spec":{"replicas":3}}`)
	s.until("a third node is there", time.Minute, nodes(3, ""))
	s.merge("nodepool", "fixed", `{"spec":{"replicas":1}}`)
	s.until("one node is left", time.Minute, nodes(1, ""))
	s.merge("nodepool", "fixed", `{"spec":{"replicas":2}}`)
	s.until("two nodes are there again", time.Minute, nodes(2, ""))
	s.relabel("fixed")
	s.until("both are replaced", 2*time.Minute, nodes(2, "blue"))

	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-4"}`)
	before := len(made("fixed"))
	s.merge("nodepool", "fixed", `{"spec":{"template":{"metadata":{"labels":{"example.com/color":"red"}}}}}`)
	s.untilCondition("nodepool/fixed", "ReplicaFailure=True", "2 of 2 replicas have a machine")
	s.until("it has tried three times", 3*time.Minute, func(now state) bool {
		if len(of(now, "fixed")) != 2 {
			t.Fatalf("a node goes before another is there: %s", now)
		}
		return len(made("fixed")) >= before+3
	})
	if at := made("fixed"); at[before+2].Sub(at[before]) < 45*time.Second {
		t.Errorf("replacements without a machine were made at %v", at[before:])
	}
	s.clearFaults()
	s.until("both are replaced when Linode has machines", 4*time.Minute, nodes(2, "red"))
	s.kube("", "delete", "nodepool", "fixed", "capped")
	s.until("nothing is left", 2*time.Minute, state.empty)
}

// watchClaims returns when the NodeClaims of a pool were created from now on, in order.
func (s *sandbox) watchClaims() (made func(pool string) []time.Time) {
	s.t.Helper()
	var mu sync.Mutex
	seen := map[string]map[string]time.Time{}
	s.follow(&karpv1.NodeClaimList{}, func(o client.Object, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		pool := o.GetLabels()[karpv1.NodePoolLabelKey]
		if seen[pool] == nil {
			seen[pool] = map[string]time.Time{}
		}
		seen[pool][o.GetName()] = o.GetCreationTimestamp().Time
	})
	return func(pool string) (at []time.Time) {
		mu.Lock()
		defer mu.Unlock()
		for _, t := range seen[pool] {
			at = append(at, t)
		}
		slices.SortFunc(at, time.Time.Compare)
		return at
	}
}
