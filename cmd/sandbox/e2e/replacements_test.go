package e2e

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/limits"
)

// loop is a NodePool whose label contradicts its requirement. Made with kubectl, no compiler
// refuses it.
const loop = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"loop"},"spec":{
	"disruption":{"consolidationPolicy":"WhenEmpty","consolidateAfter":"Never","budgets":[{"nodes":"1"}]},
	"template":{"metadata":{"labels":{"example.com/tier":"bronze"}},"spec":{"terminationGracePeriod":"1m",
	"nodeClassRef":{"group":"karpenter.k8s.linode","kind":"LinodeNodeClass","name":"default"},"requirements":[
	{"key":"node.kubernetes.io/instance-type","operator":"In","values":["g6-standard-2","g6-standard-4"]},
	{"key":"example.com/tier","operator":"In","values":["gold"]}]}}}}`

// TestALoopOfReplacementsIsStopped: Karpenter replaces a node of the pool five times, though
// the controller is killed in between, and no more; after the requirement is repaired no node is
// held. The pods run all the time, and others get nodes.
func TestALoopOfReplacementsIsStopped(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	first := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.kube(loop, "apply", "-f", "-")
	s.kube(workload("loop", 3), "apply", "-f", "-")

	seen := map[types.UID]bool{}
	replaced := func(now state) int {
		for _, nc := range now.claims {
			seen[nc.UID] = true
		}
		return len(seen) - len(now.claims)
	}
	s.until("two nodes were replaced", 2*time.Minute, func(now state) bool { return replaced(now) >= 2 })
	first.kill()
	second := s.startController()
	s.until("the pool is stopped, and what was on its way is over", 5*time.Minute, func(now state) bool {
		c := s.poolsByName()["loop"].StatusConditions().Get(limits.ConditionReplacementsStopped)
		return replaced(now) > 0 && c.IsTrue() && now.running == 3 && len(now.claims) == 3 && now.matched()
	})
	if !s.told("NodePool", limits.ConditionReplacementsStopped, "nodes get the label example.com/tier=bronze") {
		t.Error("no event says why")
	}
	s.kube("", "scale", "deployment", "loop", "--replicas=4")
	s.until("another pod gets a node", time.Minute, func(now state) bool {
		return replaced(now) > 0 && now.running == 4 && now.matched() && s.held(now) == 8
	})
	s.never("one more node is replaced", func(now state) bool { return replaced(now) > 5 }, second.disruption())
	if got := replaced(s.state()); got != 5 {
		t.Errorf("%d nodes were replaced, want 5", got)
	}
	if said := s.run("lkeplan", "status"); !strings.Contains(said, "Karpenter has replaced 5 of the nodes") {
		t.Errorf("lkeplan status does not say why:\n%s", said)
	}

	s.kube("", "patch", "nodepool", "loop", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/requirements/1/values","value":["bronze"]}]`)
	s.until("no node is held", time.Minute, func(now state) bool {
		pool := s.poolsByName()["loop"]
		_, recorded := pool.Annotations[limits.AnnotationReplacements]
		return s.held(now) == 0 && !recorded && pool.StatusConditions().Get(limits.ConditionReplacementsStopped) == nil
	})
	s.never("a node is replaced", func(now state) bool { return replaced(now) != 5 }, second.disruption())
}

// held are how many claims and Nodes the controller keeps.
func (s *sandbox) held(now state) (n int) {
	objects := make([]client.Object, 0, len(now.claims)+len(now.nodes))
	for i := range now.claims {
		objects = append(objects, &now.claims[i])
	}
	for i := range now.nodes {
		objects = append(objects, &now.nodes[i])
	}
	for _, o := range objects {
		_, ours := o.GetAnnotations()[limits.AnnotationHeld]
		if ours && o.GetAnnotations()[karpv1.DoNotDisruptAnnotationKey] == "true" {
			n++
		}
	}
	return n
}
