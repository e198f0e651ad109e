package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// scenario is one of the end-to-end scenarios of linode/karpenter-provider-linode: pods of one CPU that only nodes of
// its pool can run, and what each number of them is to run on.
type scenario struct {
	pool  string
	steps []wanted
	// refused is a Deployment of one pod that lacks the toleration of the pool's own taint, and waits.
	refused bool
}

// wanted is a number of pods, and how many nodes of each plan they run on in the end.
type wanted struct {
	pods int
	on   map[string]int
}

// scenarios are all six. The plans follow only if what LKE's DaemonSets request counts.
var scenarios = []scenario{
	{pool: "grows", steps: []wanted{{5, map[string]int{"g6-standard-6": 1}}, {2, map[string]int{"g6-standard-4": 1}}}},
	{pool: "empty", steps: []wanted{{5, map[string]int{"g6-standard-4": 2}}, {1, map[string]int{"g6-standard-2": 1}}}},
	{pool: "steps", steps: []wanted{
		{5, map[string]int{"g6-standard-4": 2}}, {8, map[string]int{"g6-standard-4": 3}}, {2, map[string]int{"g6-standard-4": 1}},
	}},
	{pool: "drifts", steps: []wanted{{1, map[string]int{"g6-standard-2": 1}}}},
	{pool: "selected", steps: []wanted{{1, map[string]int{"g6-standard-2": 1}}}},
	{pool: "not-tolerated", steps: []wanted{{1, map[string]int{"g6-standard-2": 1}}}, refused: true},
}

// TestScenariosOfTheExistingProvider runs all of them at once. The one about drift also checks the node that
// replaces, which theirs does not.
func TestScenariosOfTheExistingProvider(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--lke-daemonsets")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/scenarios")
	for _, sc := range scenarios {
		s.applyAll(ofScenario(t, sc.pool, sc.pool, `""`))
		if sc.refused {
			s.applyAll(ofScenario(t, sc.pool+"-refused", sc.pool, "example.com/scenarios"))
			s.scaleTo(sc.pool+"-refused", 1)
		}
	}
	for step := range 3 {
		var now []scenario
		for _, sc := range scenarios {
			if step < len(sc.steps) {
				now = append(now, sc)
				s.scaleTo(sc.pool, sc.steps[step].pods)
			}
		}
		s.until(fmt.Sprintf("step %d of %d scenarios", step+1, len(now)), 5*time.Minute, func(seen state) bool {
			for _, sc := range now {
				if !s.runs(seen, sc.pool, sc.steps[step]) {
					return false
				}
			}
			return true
		})
	}
	if got := s.phases("not-tolerated-refused"); got[corev1.PodPending] != 1 || len(got) != 1 {
		t.Errorf("the pod without the toleration: %v", got)
	}

	before := of(s.state(), "drifts")
	s.merge("nodepool", "drifts", `{"spec":{"template":{"metadata":{"labels":{"example.com/marker":"2"}},"spec":{"taints":[
		{"key":"example.com/scenarios","effect":"NoSchedule"},{"key":"example.com/marker","value":"2","effect":"NoSchedule"}]}}}}`)
	s.until("the node that drifted is replaced by one with the new label and taint", 5*time.Minute, func(now state) bool {
		after := of(now, "drifts")
		return len(after) == 1 && after[0].Name != before[0].Name && after[0].Labels["example.com/marker"] == "2" &&
			hasTaint(after[0], "example.com/marker") && s.phases("drifts")[corev1.PodRunning] == 1
	})
	for _, sc := range scenarios {
		s.scaleTo(sc.pool, 0)
	}
	s.until("nothing is left", 5*time.Minute, state.empty)
}

// runs reports whether as many pods of a scenario run as are wanted, all on ready nodes of the wanted plans.
func (s *sandbox) runs(now state, pool string, want wanted) bool {
	plans := map[string]int{}
	for _, n := range of(now, pool) {
		if n.Labels[karpv1.NodeInitializedLabelKey] == "true" && n.DeletionTimestamp.IsZero() &&
			n.Labels["example.com/scenario"] == pool {
			plans[n.Labels[corev1.LabelInstanceTypeStable]]++
		}
	}
	phases := s.phases(pool)
	return maps.Equal(plans, want.on) && phases[corev1.PodRunning] == want.pods && len(phases) == 1
}

// phases counts the pods of a Deployment in each phase.
func (s *sandbox) phases(deployment string) map[corev1.PodPhase]int {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.t.Context(), &pods, client.MatchingLabels{"app": deployment}); err != nil {
		s.t.Fatal(err)
	}
	phases := map[corev1.PodPhase]int{}
	for _, pod := range pods.Items {
		phases[pod.Status.Phase]++
	}
	return phases
}

// ofScenario is a Deployment whose pods tolerate taints with the key, "" for all of them.
func ofScenario(t *testing.T, name, pool, tolerated string) string {
	return strings.NewReplacer("NAME", name, "POOL", pool, "TOLERATED", tolerated).Replace(file(t, "scenarios/deployment.yaml"))
}
