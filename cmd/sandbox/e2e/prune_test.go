package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// fewest watches pods, and knows the least number of them that were ready at a time.
type fewest struct {
	mu    sync.Mutex
	ready map[string]bool
	least int
}

func (f *fewest) see(pod *corev1.Pod, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ready, pod.Name)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !gone && pod.DeletionTimestamp.IsZero() {
			f.ready[pod.Name] = true
		}
	}
	f.least = min(f.least, len(f.ready))
}

func (f *fewest) fewest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.least
}

// nodesOf are the names of the NodeClaims of a pool that are not deleted.
func nodesOf(now state, pool string) map[string]bool {
	names := map[string]bool{}
	for _, nc := range now.claims {
		if nc.Labels[karpv1.NodePoolLabelKey] == pool && nc.DeletionTimestamp.IsZero() {
			names[nc.Name] = true
		}
	}
	return names
}

// pruned is a fleet of a pool that is to go, and another one for its pods.
func pruned(pools ...string) string {
	text := fleet("")
	for _, name := range pools {
		weight := map[string]int{"old": 50}[name] + 10
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n"+
			"  requirements = { class = \"standard\", cpu = 4 }\n  weight       = %d\n  limits       = { nodes = 30 }\n"+
			"  disruption {\n    consolidate_after = \"Never\"\n    budget {\n      nodes = 4\n    }\n  }\n}\n", name, weight)
	}
	return text
}

// dirOf writes a configuration into a directory.
func dirOf(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const manyPods = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 18
  selector: {matchLabels: {app: web}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 20
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: pause, resources: {requests: {cpu: 2500m}}}]
`

// isPruning reports whether a NodePlan reports that pools are draining, as tools read
// it that know nothing of NodePlans.
func isPruning(np *lkeplanv1alpha1.NodePlan) bool {
	return np.Status.ObservedGeneration == np.Generation &&
		conditions.IsUnknown(np, meta.ReadyCondition) && conditions.IsTrue(np, meta.ReconcilingCondition) &&
		conditions.GetReason(np, meta.ReadyCondition) == lkeplanv1alpha1.ReasonPruning
}

// TestRemovedPoolDrainsBeforeDeletion: a pool with 20 nodes is removed from the source,
// the controller is killed, a revert keeps what is left, and the pool goes at last. At
// no moment fewer pods are ready than their PodDisruptionBudget asks for.
func TestRemovedPoolDrainsBeforeDeletion(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.source("fleet", pruned("old", "new"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.kube(manyPods, "apply", "-f", "-")
	s.until("20 pods run on 20 nodes of the pool", 2*time.Minute, func(now state) bool {
		return now.running == 20 && now.matched() && len(nodesOf(now, "old")) == 20
	})
	pods := s.watchPods()

	s.source("fleet", pruned("new"))
	first := s.untilPlan("fleet", "it drains the nodes of the removed pool", isPruning)
	mustContain(t, conditions.GetMessage(first, meta.ReadyCondition), "NodePool old is draining: 20 of 20 nodes are left",
		"deleted after the last one")
	if got := s.pools(); len(got) != 2 {
		t.Errorf("pools %v, and the removed one has to stay for now", got)
	}
	mustContain(t, s.ends(3, "diff", "--base", "live", dirOf(t, pruned("new"))), "pool.old: draining")

	s.until("some nodes have gone", 2*time.Minute, func(now state) bool { return len(nodesOf(now, "old")) <= 15 })
	c.kill()
	c = s.startController()
	s.until("half of its nodes have gone", 2*time.Minute, func(now state) bool { return len(nodesOf(now, "old")) <= 10 })

	// A revert keeps what is left of it.
	s.source("fleet", pruned("old", "new"))
	s.untilPlan("fleet", "the reverted commit is applied", because(lkeplanv1alpha1.ReasonSucceeded))
	old := s.poolsByName()["old"]
	if limit := old.Spec.Limits["nodes"]; old.Annotations["lkeplan.dev/condemned"] != "" || limit.Value() != 30 {
		t.Errorf("after the revert the pool has annotations %v and limits %v", old.Annotations, old.Spec.Limits)
	}
	kept := nodesOf(s.until("no node is on its way out", time.Minute, func(now state) bool {
		return now.running == 20 && now.matched() && !slices.ContainsFunc(now.claims, isDrifted)
	}), "old")
	if len(kept) < 4 {
		t.Errorf("only %d of the nodes are left that the revert was to keep", len(kept))
	}
	s.never("a node goes after the revert", func(now state) bool { return !maps.Equal(nodesOf(now, "old"), kept) },
		s.reconciliation("fleet"), c.disruption())

	s.source("fleet", pruned("new"))
	s.untilPlan("fleet", "it drains its nodes again", isPruning)
	s.until("all of its nodes have gone", 3*time.Minute, func(now state) bool { return len(nodesOf(now, "old")) == 0 })
	s.untilPlan("fleet", "the pool is gone", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && !slices.Contains(s.pools(), "old")
	})
	s.until("all pods run on the other pool", time.Minute, func(now state) bool { return now.running == 20 && now.matched() })
	if n := pods.fewest(); n < 18 {
		t.Errorf("at one moment %d pods were ready, and 18 have to be", n)
	}
	mustContain(t, s.kube("", "get", "events", "--field-selector", "involvedObject.kind=NodePlan", "-o", "jsonpath={.items[*].message}"),
		"NodePool old is draining")
}

func isDrifted(nc karpv1.NodeClaim) bool {
	return nc.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// TestPodsWithoutAnotherPlaceKeepTheirPool: their nodes stay, and the NodePlan says whose.
func TestPodsWithoutAnotherPlaceKeepTheirPool(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.source("fleet", pruned("old", "new"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.kube(strings.Replace(file(t, "inflate.yaml"), "      securityContext:\n        runAs",
		"      nodeSelector: {karpenter.sh/nodepool: old}\n      securityContext:\n        runAs", 1), "apply", "-f", "-")
	s.scale(3)
	before := s.until("three pods run", time.Minute, func(now state) bool { return now.running == 3 && now.matched() })
	s.source("fleet", pruned("new"))
	s.untilPlan("fleet", "it says which pods have no other place", func(np *lkeplanv1alpha1.NodePlan) bool {
		return isPruning(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "on no other pool or node")
	})
	s.never("a node goes", func(now state) bool {
		return !maps.Equal(nodesOf(now, "old"), nodesOf(before, "old")) || now.running != 3
	}, s.reconciliation("fleet"), c.disruption())
	s.kube("", "patch", "deployment", "inflate", "--type=json", "-p", `[{"op":"remove","path":"/spec/template/spec/nodeSelector"}]`)
	s.until("the pods that may go elsewhere are there", 2*time.Minute, func(now state) bool {
		return now.running == 3 && len(nodesOf(now, "old")) == 0 && now.matched()
	})
	s.untilPlan("fleet", "the pool is gone", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && !slices.Contains(s.pools(), "old")
	})
}
