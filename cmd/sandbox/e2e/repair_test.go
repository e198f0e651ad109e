package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestUnhealthyNodesAreRepairedOneAtATime: 3 of 15 nodes are replaced within the budget of 1, each after its replacement is
// ready. Of 3 and of 5 of 10, Karpenter replaces none, and status says why.
func TestUnhealthyNodesAreRepairedOneAtATime(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.merge("nodepool", "four", `{"spec":{"disruption":{"consolidateAfter":"Never","budgets":[{"nodes":"1"}]}}}`)
	s.kube(workload("four", 15), "apply", "-f", "-")
	s.until("15 nodes have joined", 3*time.Minute, func(now state) bool { return now.running == 15 && now.matched() })

	sick := s.sicken(3, nil)
	most := 0
	s.until("the three nodes are replaced and all pods run", 5*time.Minute, func(now state) bool {
		s.sicken(0, sick)
		going, fine := 0, 0
		for i := range now.claims {
			nc := &now.claims[i]
			if !nc.DeletionTimestamp.IsZero() || nc.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue() {
				going++
			}
			if nc.DeletionTimestamp.IsZero() && nc.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
				fine++
			}
		}
		most = max(most, going)
		if fine < 15 {
			t.Errorf("a node is deleted before its replacement is ready: %d nodes are left", fine)
		}
		return now.running == 15 && len(now.nodes) == 15 && now.matched() && !slices.ContainsFunc(now.nodes, func(n corev1.Node) bool {
			return slices.Contains(sick, n.Name)
		})
	})
	if most != 1 {
		t.Errorf("%d nodes were replaced at the same time, want 1", most)
	}

	s.scaleTo("four", 10)
	s.merge("nodepool", "four", `{"spec":{"disruption":{"consolidateAfter":"0s"}}}`)
	s.until("10 nodes are left", 5*time.Minute, func(now state) bool {
		return len(now.nodes) == 10 && now.running == 10 && now.matched()
	})
	s.merge("nodepool", "four", `{"spec":{"disruption":{"consolidateAfter":"Never"}}}`)
	for _, n := range []int{3, 5} {
		sick = s.sicken(n-len(s.unready()), s.unready())
		s.never("a node is replaced", func(now state) bool {
			s.sicken(0, sick)
			return now.deleting() || len(now.claims) != 10
		}, c.disruption())
		s.sicken(0, sick)
		want := fmt.Sprintf("%d of 10 nodes are not ready: repair stops above 20 %% (2)", n)
		if said := s.run("lkeplan", "status"); !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			t.Errorf("lkeplan status does not say %q:\n%s", want, said)
		}
		if !s.told("Node", "NodeRepairBlocked", "20%") {
			t.Error("no event says why")
		}
	}
}

// sicken makes nodes not ready since before the time that repair waits, those that have these names and further ones, and
// returns the names of all. KWOK, which plays the kubelets, may report a node ready again: call it repeatedly.
func (s *sandbox) sicken(more int, names []string) []string {
	since := time.Now().Add(-31 * time.Minute).UTC().Format(time.RFC3339)
	names = slices.Clone(names)
	for _, n := range s.state().nodes {
		known := slices.Contains(names, n.Name)
		if !known && more > 0 && ready(n) {
			known, more = true, more-1
			names = append(names, n.Name)
		}
		if known && ready(n) {
			status := "False"
			if len(n.Name)%2 == 0 {
				status = "Unknown"
			}
			s.tries(s.env["KUBECONFIG"], "", "patch", "node", n.Name, "--subresource=status", "--type=strategic", "-p",
				fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Sick",
					"lastTransitionTime":%q,"lastHeartbeatTime":%[2]q}]}}`, status, since))
		}
	}
	return names
}

// unready are the names of the nodes that are not ready.
func (s *sandbox) unready() (names []string) {
	for _, n := range s.state().nodes {
		if !ready(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

// refusedClaims is a policy by which the API server refuses the NodeClaims of the pool bad.
const refusedClaims = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refused}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [karpenter.sh], apiVersions: [v1], operations: [CREATE], resources: [nodeclaims]}]
  validations: [{expression: "object.metadata.labels['karpenter.sh/nodepool'] != 'bad'", message: no more nodes}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refused}
spec: {policyName: refused, validationActions: [Deny]}
`

// TestPoolThatGetsNoReplacementDoesNotDelayOthers: two pools roll. The replacements of one are out of stock, never join or are
// refused; the other has rolled within its own time, and status names the failing pool (kubernetes-sigs/karpenter#3080).
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
			s.kube(workload("bad", 6), "apply", "-f", "-")
			s.kube(workload("good", 6), "apply", "-f", "-")
			s.until("12 nodes have joined", 3*time.Minute, func(now state) bool {
				return now.running == 12 && now.matched() && len(now.nodes) == 12
			})
			rolled := func(pool string) bool {
				c := s.poolsByName()[pool].StatusConditions().Get("RolledOut")
				return c.IsTrue() && c.ObservedGeneration == s.poolsByName()[pool].Generation
			}
			s.relabel("good")
			start := time.Now()
			s.untilCondition("nodepool/good", "RolledOut=False", "of 6 nodes")
			s.until("a pool has rolled alone", 3*time.Minute, func(state) bool { return rolled("good") })
			s.untilCondition("nodepool/good", "RolledOut=True", "6 of 6 nodes")
			alone := time.Since(start)

			if tt.fault != "" {
				s.inject(tt.fault)
			}
			if tt.policy != "" {
				s.kube(tt.policy, "apply", "-f", "-")
			}
			s.relabel("bad") // drifts first: Karpenter replaces nodes in the order in which they drifted
			s.untilCondition("nodepool/bad", "RolledOut=False", "0 of 6 nodes")
			s.until("status names the failing pool", 2*time.Minute, func(state) bool {
				return strings.Contains(strings.Join(strings.Fields(s.run("lkeplan", "status", "bad")), " "), tt.status)
			})
			start = time.Now()
			s.merge("nodepool", "good", `{"spec":{"template":{"metadata":{"labels":{"example.com/again":"1"}}}}}`)
			s.until("the other pool has rolled", alone, func(state) bool { return rolled("good") })
			t.Logf("alone: %s, beside the failing pool: %s\n%s", alone, time.Since(start), s.run("lkeplan", "status"))
		})
	}
}
