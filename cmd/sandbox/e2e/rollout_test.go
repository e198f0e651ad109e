package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const nodePlanThatProves = nodePlanOfConfigMap + `  rollout: {stable: 5s, timeout: 40s, onFailure: Rollback}
`

// webFleet is a fleet of the pool web; more is put into the pool.
func webFleet(class, more string) string {
	text := strings.Replace(fleet(""), `node_class "default" {}`, "node_class \"default\" {"+class+"}", 1)
	return text + "\npool \"web\" {\n  node_class   = node_class.default\n" +
		"  requirements = { class = \"standard\", cpu = 4 }\n" +
		"  disruption {\n    consolidate_after = \"Never\"\n  }\n" + more + "}\n"
}

// startProving starts a controller and a fleet of three nodes with a pod each, whose
// revisions prove themselves. It returns what is there then.
func (s *sandbox) startProving(args ...string) (*controller, state) {
	s.t.Helper()
	s.installCRDs()
	c := s.startController(args...)
	s.source("fleet", webFleet("", ""))
	s.kube(strings.ReplaceAll(nodePlanThatProves, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 3))
	return c, s.until("three pods run on three nodes", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched() && len(now.nodes) == 3
	})
}

// isProving reports whether a revision proves itself, as tools read it that know nothing
// of NodePlans.
func isProving(np *lkeplanv1alpha1.NodePlan) bool {
	return because(lkeplanv1alpha1.ReasonProving)(np) && conditions.IsUnknown(np, meta.ReadyCondition) &&
		conditions.IsTrue(np, meta.ReconcilingCondition)
}

// isRolledBack checks that a revision is taken back: its nodes are there as they were, no
// pod was gone for a moment, and an event sets the status of the commit.
func (s *sandbox) isRolledBack(
	c *controller, first *lkeplanv1alpha1.NodePlan, before state, pods *fewest, says ...string,
) {
	s.t.Helper()
	np := s.untilWithin("fleet", "the revision is rolled back", 3*time.Minute, because(lkeplanv1alpha1.ReasonRolledBack))
	mustContain(s.t, conditions.GetMessage(np, meta.ReadyCondition), says...)
	tried := np.Status.LastAttemptedRevision
	if !conditions.IsStalled(np) || np.Status.LastAppliedRevision != first.Status.LastAppliedRevision ||
		tried == np.Status.LastAppliedRevision {
		s.t.Errorf("after the rollback: %+v", np.Status)
	}
	var events corev1.EventList
	if err := s.client.List(s.t.Context(), &events, client.InNamespace("default")); err != nil {
		s.t.Fatal(err)
	}
	told := false
	for _, e := range events.Items {
		told = told || e.Reason == lkeplanv1alpha1.ReasonRolledBack && e.Type == corev1.EventTypeWarning &&
			e.Annotations["lkeplan.dev/revision"] == tried
	}
	if !told {
		s.t.Errorf("no event tells of revision %s", tried)
	}
	s.never("a node or a pod goes after the rollback", func(now state) bool {
		was, is := nodesOf(before, "web"), nodesOf(now, "web")
		maps.DeleteFunc(is, func(name string, _ bool) bool { return !was[name] })
		return !maps.Equal(was, is) || now.running < 3
	}, s.reconciliation("fleet"), c.disruption())
	if n := pods.fewest(); n < 3 {
		s.t.Errorf("at one moment %d pods were ready, and 3 have to be", n)
	}
	web := s.poolsByName()["web"]
	if len(web.Spec.Disruption.Budgets) != 1 || len(web.Annotations["lkeplan.dev/wave"]) > 0 {
		s.t.Errorf("after the rollback the pool has the budgets %v and the annotations %v", web.Spec.Disruption.Budgets,
			web.Annotations)
	}
}

// TestRevisionWithNodesThatNeverJoinIsRolledBack, also by a controller that was killed.
func TestRevisionWithNodesThatNeverJoinIsRolledBack(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	c, before := s.startProving()
	pods, first := s.watchPods(), s.nodePlan("fleet")
	s.inject(`{"never_joins": true}`)
	s.source("fleet", webFleet("\n  disk_encryption = \"disabled\"\n", ""))
	s.untilPlan("fleet", "it proves itself", isProving)
	s.until("a machine is made that does not join", time.Minute, func(now state) bool { return now.linode.Live == 4 })
	c.kill()
	c = s.startController()
	s.isRolledBack(c, first, before, pods, "NodePool web did not succeed within 40s", "has not joined")
	if now := s.state(); now.linode.Live > 4 {
		t.Errorf("more than one machine was made for a revision that does not prove itself: %s", now)
	}
	s.clearFaults()
	s.source("fleet", webFleet("", "  labels = { tier = \"web\" }\n"))
	s.untilPlan("fleet", "the next revision proves itself", isProving)
}

// TestARevisionWaitsForCapacity: Linode has none, which no revision is taken back for. When
// it has, the revision proves itself, and the rest of it is applied.
func TestARevisionWaitsForCapacity(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	c, before := s.startProving("--unavailable-offerings-ttl", "10s")
	pods := s.watchPods()
	s.inject(`{"no_capacity": "refuse"}`)
	s.source("fleet", webFleet("", "  labels = { tier = \"web\" }\n"))
	s.untilPlan("fleet", "it says that Linode has no capacity", func(np *lkeplanv1alpha1.NodePlan) bool {
		return isProving(np) && strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "Linode has no capacity")
	})
	s.never("the revision is rolled back, or a node goes", func(now state) bool {
		waits := conditions.GetReason(s.nodePlan("fleet"), meta.ReadyCondition) == lkeplanv1alpha1.ReasonProving
		return !waits || !maps.Equal(nodesOf(before, "web"), alive(now)) || now.running < 3
	}, s.reconciliation("fleet"), c.disruption())
	if n := pods.fewest(); n < 3 {
		t.Errorf("at one moment %d pods were ready, and 3 have to be", n)
	}
	s.clearFaults()
	s.untilWithin("fleet", "it is applied", 2*time.Minute, because(lkeplanv1alpha1.ReasonSucceeded))
	s.until("all nodes are replaced", 3*time.Minute, func(now state) bool {
		for _, n := range now.nodes {
			if n.Labels["tier"] != "web" {
				return false
			}
		}
		return now.running == 3 && now.matched()
	})
}

// alive are the NodeClaims that have a node.
func alive(now state) map[string]bool {
	names := map[string]bool{}
	for _, nc := range now.claims {
		if nc.Status.NodeName != "" && nc.DeletionTimestamp.IsZero() {
			names[nc.Name] = true
		}
	}
	return names
}
