package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/inspect"
)

// situationsConfig writes the pools of the situations that are wanted, and returns where.
func situationsConfig(t *testing.T, wanted func(name string) bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	hcl := "cluster {\n  name   = \"sandbox\"\n  region = \"us-southeast\"\n}\n\nnode_class \"default\" {}\n\n" +
		"node_class \"broken\" {}\n"
	for _, one := range slices.Concat(refusals, placings) {
		if !wanted(one.name) {
			continue
		}
		class, labels := "default", fmt.Sprintf("case = %q", one.name)
		switch one.name {
		case "class":
			class = "broken"
		case "affinity":
			labels += ", \"example.com/tier\" = \"silver\""
		}
		hcl += fmt.Sprintf("\npool %q {\n  node_class = node_class.%s\n  %s\n  labels = { %s }\n  disruption {\n"+
			"    consolidate_after = \"Never\"\n  }\n}\n", one.name, class, one.pool, labels)
	}
	if wanted("light") {
		hcl += "\npool \"light\" {\n  node_class = node_class.default\n  " + four + "\n  labels = { case = \"weight\" }\n" +
			"  weight = 1\n  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n" +
			"\nlimits \"capped\" {\n  pools = [pool.capped]\n  cpu   = 6\n}\n\nlimits \"dear\" {\n  pools = [pool.dear]\n" +
			"  monthly_cost = 60\n}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(hcl), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// situationsBefore are the objects, without Deployments, that exist before pods wait.
const situationsBefore = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: important}
value: 1000
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemons}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec:
      nodeSelector: {case: daemons}
      containers:
        - {name: c, image: registry.k8s.io/pause:3.10, resources: {requests: {cpu: 400m}}}
---
`

// TestWhyAgreesWithTheScheduler asks why of pods that wait while no controller runs, by
// lists alone: the pods that it says a node would be made for get that node once the
// controller runs again, and the others do not. Then what it says is repaired, and each runs
// on a node of the pool that it was said of.
func TestWhyAgreesWithTheScheduler(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--region", "us-southeast")
	s.installCRDs()
	gates := []string{"--unavailable-offerings-ttl", "40s"}
	first := s.startController(gates...)
	viewer := s.viewer()
	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-6"}`)
	s.run("lkeplan", "apply", "--yes", situationsConfig(t, func(string) bool { return true }))

	before, pods := situationsBefore+bound("data", "us-ord")+podFor("stock-base", "stock", "CPU 1"), ""
	running := 0
	for _, one := range slices.Concat(refusals, placings) {
		if pods += podFor(one.name, one.name, one.pod); one.base != "" {
			before += podFor(one.name+"-base", one.name, one.base)
			running++
		}
	}
	s.kube(before, "apply", "-f", "-")
	s.until("the pods that are to be there run", 2*time.Minute, func(now state) bool {
		return now.running == running && now.matched()
	})
	s.run("lkeplan", "apply", "--yes", "--prune", situationsConfig(t, func(name string) bool {
		return name != "condemned"
	}))
	s.merge("linodenodeclass", "broken", `{"spec":{"lkeK8sVersion":"v1.33.4+lke2"}}`)
	s.minValues("choice", 20)
	s.until("pools say what is wrong", time.Minute, func(state) bool {
		found := s.status(viewer)
		return says("stock", "stock", "g6-standard-6")(found) && says("class", "class", "")(found)
	})
	first.stop()

	s.kube("", "delete", "deployment", "stock-base", "--cascade=foreground", "--wait")
	s.kube(pods, "apply", "-f", "-")
	s.until("the pods wait", time.Minute, func(now state) bool { return now.pending == len(refusals)+len(placings) })
	s.untilAnswered(viewer)
	s.startController(gates...)
	s.until("pods get the nodes that why has said", 2*time.Minute, func(now state) bool {
		s.tries(s.env["KUBECONFIG"], "", "taint", "nodes", "-l", "case=startup,karpenter.sh/registered=true",
			"example.com/wait-")
		return now.running == running+len(placings)
	})
	for _, one := range placings {
		s.runsOn(one.name, one.name, one.says)
	}
	s.until("Karpenter has refused the others", time.Minute, func(state) bool {
		for _, one := range refusals {
			if one.name != "gate" && one.name != "unbound" && !s.hasEvent("Pod", one.name+"-", "FailedScheduling", "Failed to schedule pod") {
				return false
			}
		}
		return true
	})
	s.until("events on the pods say why, too", time.Minute, func(state) bool {
		return s.told("Pod", "PlanTypeOutOfStock", "for g6-standard-6") &&
			s.told("Pod", "NodePoolNotReady", "spec.lkeK8sVersion") &&
			s.told("Pod", "CapacityLimitReached", "NodePool limit") &&
			s.told("Pod", "CapacityLimitReached", "CapacityLimit capped")
	})
	for _, one := range refusals {
		if one.name == "condemned" {
			s.run("lkeplan", "apply", "--yes", situationsConfig(t, func(name string) bool { return name == "condemned" }))
			continue
		}
		one.helps(s)
	}
	s.until("what helps has helped", 5*time.Minute, func(now state) bool { return now.pending == 0 })
	for _, one := range refusals {
		s.runsOn(one.name, one.name, "")
	}

	s.heldNodesStay(viewer)
	name := s.nodeOf("size")
	s.deleteDeployments("size")
	s.merge("nodepool", "size", `{"spec":{"disruption":{"consolidateAfter":"0s"}}}`)
	s.until("the node is gone, and why quotes the event about it", 2*time.Minute, func(now state) bool {
		if slices.ContainsFunc(now.nodes, func(n corev1.Node) bool { return n.Name == name }) {
			return false
		}
		out, _ := s.command(bin(t, "lkeplan"), map[string]string{"KUBECONFIG": viewer}, "why", "node", name).
			CombinedOutput() // the event may not be written yet
		return strings.Contains(string(out), "there is no node "+name+" any more; the last event about it")
	})
}

// heldNodesStay has Karpenter want cheaper nodes for pools whose nodes something holds: why
// says what, Karpenter says the same, and no node goes before it is released.
func (s *sandbox) heldNodesStay(viewer string) {
	s.t.Helper()
	names := map[string]string{}
	for _, one := range holdings(time.Now().UTC()) {
		names[one.pool] = s.nodeOf(one.pool)
		one.hold(s, names[one.pool])
		s.merge("nodepool", one.pool, `{"spec":{"disruption":{"consolidateAfter":"0s"},
			"template":{"spec":{"requirements":[
				{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]},
				{"key":"karpenter.k8s.linode/instance-class","operator":"In","values":["standard"]},
				{"key":"karpenter.k8s.linode/instance-cpu","operator":"In","values":["2","4"]}]}}}}`)
	}
	for _, one := range holdings(time.Now().UTC()) {
		s.until("Karpenter says that it may not replace the node of pool "+one.pool, 2*time.Minute, func(state) bool {
			return s.told(one.kind, "DisruptionBlocked", one.karpenter)
		})
		text := s.asViewer(viewer, "why", "node", names[one.pool])
		flat := strings.Join(strings.Fields(text), " ")
		const instead = "without this node, its pods would need a g6-standard-2, which is cheaper"
		if !strings.Contains(flat, one.says) || !strings.Contains(flat, instead) {
			s.t.Errorf("why does not say %q of the node of pool %s:\n%s", one.says, one.pool, text)
		}
	}
	for _, one := range holdings(time.Now().UTC()) {
		if s.nodeOf(one.pool) != names[one.pool] {
			s.t.Errorf("the node of pool %s has gone, and something holds it", one.pool)
		}
		one.release(s, names[one.pool])
	}
	s.until("nodes go that nothing holds any more", 3*time.Minute, func(now state) bool {
		return !slices.ContainsFunc(now.nodes, func(n corev1.Node) bool {
			return n.Name == names[n.Labels[karpv1.NodePoolLabelKey]]
		})
	})
}

// untilAnswered asks why of the pods of all situations.
func (s *sandbox) untilAnswered(viewer string) {
	for _, one := range slices.Concat(refusals, placings) {
		pod := s.waitingPod(one.name)
		var a inspect.Answer
		if err := json.Unmarshal([]byte(s.asViewer(viewer, "why", "pod", pod, "-o", "json")), &a); err != nil {
			s.t.Fatal(err)
		}
		if !slices.ContainsFunc(a.Sections, func(found inspect.Section) bool {
			return slices.ContainsFunc(found.Lines, func(l inspect.Line) bool {
				return (len(l.Pools) == 0 || slices.Contains(l.Pools, one.name)) && strings.Contains(l.Text, one.says)
			})
		}) {
			s.t.Errorf("why does not say %q of pool %s:\n%s", one.says, one.name,
				s.asViewer(viewer, "why", "pod", pod))
		}
	}
}

// runsOn fails the test if the pod of a Deployment does not run on a node of a pool, and of
// a plan type where one is given.
func (s *sandbox) runsOn(deployment, pool, plan string) {
	s.t.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.t.Context(), &pods, client.MatchingLabels{"app": deployment}); err != nil {
		s.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		var node corev1.Node
		if pod.Spec.NodeName == "" {
			s.t.Errorf("pod %s has no node", pod.Name)
			continue
		}
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
			s.t.Fatal(err)
		}
		on, is := node.Labels[karpv1.NodePoolLabelKey], node.Labels[corev1.LabelInstanceTypeStable]
		if on != pool || plan != "" && is != plan {
			s.t.Errorf("pod %s runs on a %s of pool %s, and not on a %s of pool %s", pod.Name, is, on, plan, pool)
		}
	}
}
