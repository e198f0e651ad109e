package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/inspect"
)

// statusRights are all that status and why need.
const statusRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: status}
rules:
  - {apiGroups: [""], resources: [nodes, pods, events], verbs: [get, list]}
  - {apiGroups: [""], resources: [persistentvolumeclaims, persistentvolumes], verbs: [get, list]}
  - {apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: [get, list]}
  - {apiGroups: [apps], resources: [daemonsets], verbs: [get, list]}
  - {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list]}
  - {apiGroups: [karpenter.sh], resources: [nodeclaims, nodepools], verbs: [get, list]}
  - {apiGroups: [karpenter.k8s.linode], resources: [linodenodeclasses], verbs: [get, list]}
  - {apiGroups: [lkeplan.dev], resources: [capacitylimits, nodeplans], verbs: [get, list]}
`

// toldWithin is how long status may take to tell why pods wait.
const toldWithin = 15 * time.Second

// TestStatusShowsWhyPodsWait provokes one reason after the other why pods wait or a roll does
// not continue: status shows each within seconds, from lists alone. The last words are
// those of why.
func TestStatusShowsWhyPodsWait(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/status")
	viewer := s.viewer()

	for _, pool := range []string{"own", "capped", "guarded", "windowed"} {
		s.kube(workload(pool, 1), "apply", "-f", "-")
	}
	s.kube(`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"},
		"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}}`, "apply", "-f", "-")
	s.until("four pods run", time.Minute, func(now state) bool { return now.running == 4 && now.matched() })
	if now := s.status(viewer); len(now.Notes)+len(now.Waiting)+len(now.Classes) > 0 || now.Nodes < 4 {
		t.Errorf("nothing waits, and it says %+v", now)
	}

	steps := []struct {
		name    string
		provoke func()
		tells   func(inspect.Status) bool
		event   [3]string // kind, reason and text of one that says it, too
	}{
		{"the limit of a pool", func() { s.scaleTo("own", 2) },
			waits("own", "NodePool own has no capacity"),
			[3]string{"Pod", "CapacityLimitReached", "NodePool own"}},
		{"a CapacityLimit", func() { s.scaleTo("capped", 2) },
			waits("capped", "CapacityLimit cap has no capacity"), [3]string{"Pod", "CapacityLimitReached", "CapacityLimit cap"}},
		{"no stock", func() {
			s.inject(`{"no_capacity":"refuse","plan":"g6-standard-6"}`)
			s.applyAll(workload("stock", 1))
		}, says("stock", inspect.RemarkStock, "Linode has no capacity in us-ord for g6-standard-6"),
			[3]string{"Pod", "PlanTypeOutOfStock", "for g6-standard-6"}},
		{"no fitting plan", func() {
			s.kube(strings.ReplaceAll(workload("small", 1), `"cpu":"3"`, `"cpu":"30"`), "apply", "-f", "-")
		}, waits("small", "no instance type has enough resources"),
			[3]string{"Pod", "FailedScheduling", "no instance type has enough resources"}},
		{"a class that is not ready", func() {
			s.merge("linodenodeclass", "broken", `{"spec":{"lkeK8sVersion":"v1.33.4+lke2"}}`)
			s.applyAll(workload("refused", 1))
		}, waits("refused", "spec.lkeK8sVersion: "),
			[3]string{"Pod", "NodePoolNotReady", "spec.lkeK8sVersion: "}},
		{"a PodDisruptionBudget", func() { s.relabel("guarded") },
			says("guarded", inspect.RemarkHeld, "PodDisruptionBudget default/guarded, which allows no eviction"),
			[3]string{"Node", "DisruptionBlocked", "default/guarded"}},
		{"a budget", func() { s.relabel("windowed") }, says("windowed", inspect.RemarkRolling, "never allows a disruption"),
			[3]string{"NodePool", "DisruptionBlocked", "budget"}},
	}
	for _, step := range steps {
		step.provoke()
		s.until("status tells of "+step.name, toldWithin, func(state) bool { return step.tells(s.status(viewer)) })
	}
	for _, step := range steps {
		s.until("an event tells of "+step.name, time.Minute, func(state) bool {
			return s.told(step.event[0], step.event[1], step.event[2])
		})
	}
	s.untilCondition("nodepool/own", "LimitReached=True", "NodePool own has no capacity")
	s.untilCondition("capacitylimit/cap", "Reached=True", "CapacityLimit cap has no capacity")
	s.untilCondition("nodepool/stock", "OutOfStock=True", "g6-standard-6")
	t.Log("\n" + s.asViewer(viewer, "status"))

	for pool, want := range map[string]string{
		"own": "NodePool own has no capacity", "capped": "CapacityLimit cap", "stock": "is available in us-ord",
		"small": "the pod requests 30 CPUs", "refused": "it is not ready: spec.lkeK8sVersion: ",
	} {
		pod := s.waitingPod(pool)
		var a inspect.Answer
		if err := json.Unmarshal([]byte(s.asViewer(viewer, "why", "pod", pod, "-o", "json")), &a); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(a.Sections, func(found inspect.Section) bool {
			return found.About == inspect.AboutPlacing && slices.ContainsFunc(found.Lines, func(l inspect.Line) bool {
				return slices.Contains(l.Pools, pool) && strings.Contains(l.Text, want)
			})
		}) {
			t.Errorf("why pod %s does not say %q of pool %s:\n%s", pod, want, pool, s.asViewer(viewer, "why", "pod", pod))
		}
	}
	node := strings.TrimSpace(s.kube("", "get", "nodes", "-l", "karpenter.sh/nodepool=guarded", "-o", "name"))
	text := s.asViewer(viewer, "why", "node", strings.TrimPrefix(node, "node/"))
	for _, part := range []string{"the template of its pool has changed", "is the cheapest plan type",
		"the PodDisruptionBudget default/guarded allows no eviction"} {
		if !strings.Contains(text, part) {
			t.Errorf("why node does not say %q:\n%s", part, text)
		}
	}
	t.Log("\n" + text)

	s.inject(`{"path":"/lke/**","status":503,"body":"<html>down for maintenance</html>"}`)
	s.applyAll(workload("fine", 1))
	down := classSays("default", "the Linode API does not respond correctly")
	s.until("status tells of an API that is down", toldWithin, func(state) bool { return down(s.status(viewer)) })
	s.until("so does an event on the pod", time.Minute, func(state) bool {
		return s.told("Pod", "LinodeNoAnswer", "a node is created when it answers again")
	})
	s.untilCondition("linodenodeclass/default", "LinodeAnswers=False", "503")
	s.clearFaults()

	s.inject(`{"path":"/lke/**","status":401,"body":"Invalid Token"}`)
	s.scaleTo("fine", 2)
	refused := classSays("default", "the Linode API refuses the controller's token")
	s.until("status tells of a token that is refused", toldWithin, func(state) bool { return refused(s.status(viewer)) })
	s.until("so does an event on the pod", time.Minute, func(state) bool {
		return s.told("Pod", "NodePoolNotReady", "the Linode API refuses the controller's token")
	})
	s.untilCondition("linodenodeclass/default", "LinodeAnswers=False", "token")
}

// waits reports whether a warning about the pods of a Deployment says why they wait.
func waits(deployment, reason string) func(inspect.Status) bool {
	return func(found inspect.Status) bool {
		return slices.ContainsFunc(found.Waiting, func(w inspect.Workload) bool {
			return w.Owner == "Deployment "+deployment && strings.Contains(w.Message, reason)
		})
	}
}

// classSays reports whether something is said of a LinodeNodeClass.
func classSays(class, text string) func(inspect.Status) bool {
	return func(found inspect.Status) bool {
		return slices.ContainsFunc(found.Classes, func(c inspect.ClassStatus) bool {
			return c.Name == class && slices.ContainsFunc(c.Says, func(r inspect.Remark) bool { return strings.Contains(r.Text, text) })
		})
	}
}

// says reports whether something is said of a pool.
func says(pool string, what inspect.RemarkKind, text string) func(inspect.Status) bool {
	return func(found inspect.Status) bool {
		return slices.ContainsFunc(found.Pools, func(p inspect.PoolStatus) bool {
			return p.Name == pool && slices.ContainsFunc(p.Says, func(r inspect.Remark) bool {
				return r.What == what && strings.Contains(r.Text, text)
			})
		})
	}
}
