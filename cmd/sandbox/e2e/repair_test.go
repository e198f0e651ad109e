package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

// TestUnhealthyNodesAreRepairedOneAtATime kills kubelets in four pools with a budget of one node and a pod on each node.
// Karpenter waits for 20 seconds here, not for half an hour.
//
//   - Kubernetes evicts the pods of the pool evicted, as it does after five minutes by default. They get new nodes, so that 3 of
//     more than 10 nodes are dead, and these are removed.
//   - The pods of the other pools tolerate dead nodes: a node is removed only when its replacement is ready. 3 of 11 nodes are
//     repaired. Each takes more than a minute, for which Karpenter waits for a pod that does not end.
//   - Of 3 and of 5 of 10 nodes, Karpenter repairs none: status and an event say so.
func TestUnhealthyNodesAreRepairedOneAtATime(t *testing.T) {
	t.Parallel()
	pools := map[string]struct{ nodes, dead int }{"evicted": {10, 3}, "stay": {11, 3}, "three": {10, 3}, "five": {10, 5}}
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController("--repair-after", "20s")
	s.run("lkeplan", "apply", "--yes", "testdata/repair")
	for pool, tt := range pools {
		tolerated := "6000"
		if pool == "evicted" {
			tolerated = "5"
		}
		s.kube(strings.Replace(workload(pool, tt.nodes), `"containers"`, `"tolerations":[{"key":"node.kubernetes.io/unreachable",
			"operator":"Exists","effect":"NoExecute","tolerationSeconds":`+tolerated+`}],"containers"`, 1), "apply", "-f", "-")
	}
	s.until("all nodes have joined", 3*time.Minute, func(now state) bool { return now.running == 41 && now.matched() })

	dead := map[string]bool{}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		left := pools[pool].dead
		for _, n := range s.state().nodes {
			if left > 0 && n.Labels[karpv1.NodePoolLabelKey] == pool {
				s.killKubelet(n.Name)
				dead[n.Name] = true
				left--
			}
		}
	}
	most := map[string]int{}
	check := func(now state) {
		going, fine := map[string]int{}, map[string]int{}
		for i := range now.claims {
			nc := &now.claims[i]
			pool := nc.Labels[karpv1.NodePoolLabelKey]
			is := func(condition string) bool { return nc.StatusConditions().Get(condition).IsTrue() }
			if is(karpv1.ConditionTypeDisruptionReason) || !nc.DeletionTimestamp.IsZero() {
				if !dead[nc.Status.NodeName] {
					t.Errorf("a node that is ready is replaced: %s", nc.Status.NodeName)
				}
				if !is(karpv1.ConditionTypeInstanceTerminating) { // otherwise it uses no budget
					going[pool]++
					most[pool] = max(most[pool], going[pool])
				}
			}
			if nc.DeletionTimestamp.IsZero() && is(karpv1.ConditionTypeInitialized) {
				fine[pool]++
			}
		}
		for pool, tt := range pools {
			if fine[pool] < tt.nodes {
				t.Errorf("a node of pool %s is deleted before its replacement is ready: %d are left", pool, fine[pool])
			}
		}
	}
	unknown := map[string]bool{}
	s.until("Kubernetes has seen all dead nodes", 3*time.Minute, func(now state) bool {
		check(now)
		for i := range now.nodes {
			n := &now.nodes[i]
			if nodeutils.GetCondition(n, corev1.NodeReady).Status == corev1.ConditionUnknown && hasTaint(*n, corev1.TaintNodeUnreachable) {
				unknown[n.Name] = true
			}
		}
		return len(unknown) == len(dead)
	})
	s.until("the nodes are replaced and all their pods run", 4*time.Minute, func(now state) bool {
		check(now)
		ready := s.podsOnReadyNodes(now)
		for pool, tt := range pools {
			stay, run := tt.dead, tt.nodes-tt.dead
			if pool == "evicted" || pool == "stay" {
				stay, run = 0, tt.nodes
			}
			for _, n := range now.nodes {
				if n.Labels[karpv1.NodePoolLabelKey] == pool && dead[n.Name] {
					stay--
				}
			}
			if stay != 0 || ready[pool] != run {
				return false
			}
		}
		return now.matched() && len(now.nodes) == 41
	})
	s.never("another node is replaced", func(now state) bool {
		check(now)
		return now.deleting() || len(now.claims) != 41
	}, c.disruption())
	if want := map[string]int{"evicted": 1, "stay": 1}; !maps.Equal(most, want) {
		t.Errorf("nodes that were replaced at the same time: %v, want %v", most, want)
	}
	said := strings.Join(strings.Fields(s.run("lkeplan", "status")), " ")
	for _, pool := range []string{"three", "five"} {
		if want := fmt.Sprintf("%d of 10 nodes are not ready: repair stops above 20 %% (2)", pools[pool].dead); !strings.Contains(said, want) {
			t.Errorf("lkeplan status does not say %q:\n%s", want, said)
		}
		if !s.told("Node", "NodeRepairBlocked", fmt.Sprintf("more than 20%% of nodes in nodepool %q", pool)) {
			t.Errorf("no event says why nodes of pool %s are not repaired", pool)
		}
	}
}

// killKubelet has KWOK play a Node and its pods no longer: it does so only while it holds the lease of the Node.
func (s *sandbox) killKubelet(node string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node}}
	err := s.client.Patch(s.t.Context(), lease, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"holderIdentity":"nobody","leaseDurationSeconds":86400}}`)))
	if err != nil {
		s.t.Fatal(err)
	}
}

// podsOnReadyNodes returns how many pods of each pool run on a node that is ready.
func (s *sandbox) podsOnReadyNodes(now state) map[string]int {
	var pods corev1.PodList
	if err := s.client.List(s.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		s.t.Fatal(err)
	}
	count := map[string]int{}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() && slices.ContainsFunc(now.nodes, func(n corev1.Node) bool {
			return n.Name == p.Spec.NodeName && ready(n)
		}) {
			count[p.Labels["app"]]++
		}
	}
	return count
}

// refusedClaims is a policy by which the API server refuses the NodeClaims of the pools bad and fixed.
const refusedClaims = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refused}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [karpenter.sh], apiVersions: [v1], operations: [CREATE], resources: [nodeclaims]}]
  validations: [{expression: "object.metadata.labels['karpenter.sh/nodepool'] == 'good'", message: no more nodes}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refused}
spec: {policyName: refused, validationActions: [Deny]}
`

// TestPoolThatGetsNoReplacementDoesNotDelayOthers: two pools roll. The replacements of one are out of stock, never join or are
// refused, as are those of a pool with replicas. The other has rolled within its own time, and status names the failing pool
// (kubernetes-sigs/karpenter#3080).
func TestPoolThatGetsNoReplacementDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ fault, policy, status string }{
		"refused":        {policy: refusedClaims, status: "the API server refuses the NodeClaims of the pool"},
		"out of stock":   {fault: `{"no_capacity":"refuse","plan":"g6-standard-6"}`, status: "Linode has no capacity in us-ord for g6-standard-6"},
		"it never joins": {fault: `{"never_joins":true,"plan":"g6-standard-6"}`, status: "joining"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t)
			s.installCRDs()
			s.startController()
			s.run("lkeplan", "apply", "--yes", "testdata/twopools")
			s.kube(workload("bad", 4), "apply", "-f", "-")
			s.kube(workload("good", 3), "apply", "-f", "-")
			s.until("2, 3 and 1 nodes have joined", time.Minute, func(now state) bool {
				return now.running == 7 && now.matched() && len(now.nodes) == 6
			})
			rolls := func() time.Duration {
				start := time.Now()
				s.untilCondition("nodepool/good", "RolledOut=False", "of 3 nodes")
				s.until("the pool has rolled", 2*time.Minute, func(state) bool {
					return s.poolsByName()["good"].StatusConditions().Get("RolledOut").IsTrue()
				})
				return time.Since(start)
			}
			s.relabel("good")
			alone := rolls()

			if tt.fault != "" {
				s.inject(tt.fault)
			}
			if tt.policy != "" {
				s.kube(tt.policy, "apply", "-f", "-")
				s.relabel("fixed")
				s.untilCondition("nodepool/fixed", "RolledOut=False", "0 of 1 nodes")
			}
			s.relabel("bad") // drifts first: Karpenter replaces nodes in the order in which they drifted
			s.untilCondition("nodepool/bad", "RolledOut=False", "0 of 2 nodes")
			s.until("status names the failing pool", time.Minute, func(state) bool {
				return strings.Contains(strings.Join(strings.Fields(s.run("lkeplan", "status", "bad")), " "), tt.status)
			})
			s.merge("nodepool", "good", `{"spec":{"template":{"metadata":{"labels":{"example.com/again":"1"}}}}}`)
			beside := rolls()
			t.Logf("alone: %s, beside the failing pool: %s\n%s", alone, beside, s.run("lkeplan", "status"))
			// Karpenter looks every ten seconds, and may find the failing pool each time before it finds one of the three nodes.
			if limit := alone*3/2 + 30*time.Second; beside > limit {
				t.Errorf("the other pool has rolled after %s, want at most %s", beside, limit)
			}
		})
	}
}
