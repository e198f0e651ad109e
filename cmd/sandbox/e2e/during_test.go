package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// switches are the messages of events with the reason SettingsSwitched, and how often each was sent.
func (s cluster) switches() map[string]int32 {
	s.t.Helper()
	var events corev1.EventList
	if err := s.client.List(s.t.Context(), &events); err != nil {
		s.t.Fatal(err)
	}
	sent := map[string]int32{}
	for _, e := range events.Items {
		if e.Reason == lkeplanv1alpha1.ReasonSwitched {
			n := max(1, e.Count)
			if e.Series != nil {
				n = max(n, e.Series.Count)
			}
			sent[e.Message] += n
		}
	}
	return sent
}

// nodeUIDs are the names and UIDs of the nodes.
func nodeUIDs(now state) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, node := range now.nodes {
		uids[node.Name] = node.UID
	}
	return uids
}

// TestDuringBlockSwitchesValuesAndNoNodes: a block with lower limits and another weight starts while the head of the
// branch does not compile. The values switch, no node is replaced, and a pod waits for the end of the block. A manual
// edit stays while the head does not compile, and is then reverted to the value of the block. The controller is killed
// before the block ends, and started after that: it applies the values outside of the block once, and the pod gets a
// node.
func TestDuringBlockSwitchesValuesAndNoNodes(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	viewer := s.viewer()
	c := s.startController()
	byDay := "  limits = { cpu = 12 }\n  weight = 10\n"
	s.source("fleet", webFleet("", byDay))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 2))
	before := nodeUIDs(s.until("two pods run on two nodes", time.Minute, func(now state) bool {
		return now.running == 2 && now.matched() && len(now.nodes) == 2
	}))
	has := func(cpu string, weight int32) func(state) bool {
		return func(state) bool {
			spec := s.poolsByName()["web"].Spec
			limit := spec.Limits[corev1.ResourceCPU]
			return limit.String() == cpu && *spec.Weight == weight
		}
	}
	// same fails the test if one of the first nodes is not there as it was.
	same := func(now state) {
		t.Helper()
		is := nodeUIDs(now)
		for name, uid := range before {
			if is[name] != uid {
				t.Errorf("of the nodes %v, %s is missing in %v", before, name, is)
			}
		}
		if now.deleting() {
			t.Errorf("a node is removed:\n%s", now)
		}
	}

	start := time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	lasts := 3 * time.Minute
	end := start.Add(lasts)
	dated := webFleet("", byDay+fmt.Sprintf("  during \"night\" {\n    schedule = \"%d %d * * *\"\n    duration = %q\n"+
		"    limits   = { cpu = 8 }\n    weight   = 20\n  }\n", start.Minute(), start.Hour(), lasts))
	s.source("fleet", dated)
	np := s.untilPlan("fleet", "the block is applied, and does not apply yet", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(np.Status.Settings) == 1 && np.Status.NextSwitch != nil
	})
	if set := np.Status.Settings[0]; len(set.Active) > 0 || !np.Status.NextSwitch.Time.Equal(start) ||
		!has("12", 10)(state{}) {
		t.Fatalf("at %s the block that starts at %s: %+v, next switch %s", time.Now().UTC(), start, set, np.Status.NextSwitch)
	}
	s.source("fleet", dated+"\npool \"bad\" {\n  node_class = node_class.nosuch\n}\n")
	s.untilPlan("fleet", "the head does not compile", because(lkeplanv1alpha1.ReasonCompileFailed))
	if got := s.switches(); len(got) > 0 {
		t.Errorf("before %s values were switched: %v", start, got)
	}

	same(s.until("the values are those of the block", 2*time.Minute, has("8", 20)))
	if now := time.Now(); now.Before(start) {
		t.Errorf("the values were switched %s too early", start.Sub(now))
	}
	on := "NodePool web: limits.cpu 12 → 8, weight 10 → 20: during night, until " + end.Format("Mon 2 Jan 15:04 UTC")
	s.until("an event names the switch", time.Minute, func(state) bool { return s.switches()[on] > 0 })
	s.untilPlan("fleet", "the status names the block", func(np *lkeplanv1alpha1.NodePlan) bool {
		return len(np.Status.Settings) == 1 && len(np.Status.Settings[0].Active) == 1
	})
	mustContain(t, s.asViewer(viewer, "status"),
		"NodePool web has the values of during night until "+end.Format("Mon 2 Jan 15:04 UTC"))

	s.edit("web", `{"spec":{"weight":50}}`)
	s.never("the edit is reverted although the head does not compile", func(now state) bool { return !has("8", 50)(now) },
		s.reconciliation("fleet"))
	s.source("fleet", dated)
	s.until("the edit is reverted to the value of the block", time.Minute, has("8", 20))
	s.until("an event names the edit", time.Minute, func(state) bool {
		return s.setBack("NodePool web: spec.weight was set to 50")
	})

	s.scaleTo("web", 3)
	s.until("Karpenter creates no node for the third pod", time.Minute, func(state) bool {
		return s.hasEvent("Pod", "web", "FailedScheduling", "limits")
	})
	mustContain(t, s.asViewer(viewer, "why", "pod", s.waitingPod("web"), "-o", "json"),
		"it allows 8 CPUs", `the block during \"night\" sets limits until `+end.Format("Mon 2 Jan 15:04 UTC"))
	if now := time.Now(); !now.Before(end) {
		t.Fatalf("the block ended %s ago: the machine is too slow for this test", now.Sub(end))
	}
	same(s.state())
	c.kill()
	if got := s.switches(); !maps.Equal(got, map[string]int32{on: 1}) {
		t.Errorf("switches before the controller was killed: %v", got)
	}
	s.until("the block has ended, and the values are still its own", lasts, func(now state) bool {
		if !has("8", 20)(now) {
			t.Fatal("a value was switched without a controller")
		}
		return time.Since(end) > time.Second
	})

	c = s.startController()
	s.until("the values are those outside of the block", time.Minute, has("12", 10))
	same(s.until("the third pod has a node", 2*time.Minute, func(now state) bool {
		return now.running == 3 && now.matched() && len(now.nodes) == 3
	}))
	s.never("values are switched again", func(now state) bool { return !has("12", 10)(now) || now.deleting() },
		s.reconciliation("fleet"))
	off := "NodePool web: limits.cpu 8 → 12, weight 20 → 10: outside of all during blocks, until " +
		start.AddDate(0, 0, 1).Format("Mon 2 Jan 15:04 UTC")
	if got := s.switches(); !maps.Equal(got, map[string]int32{on: 1, off: 1}) {
		t.Errorf("switches %v, want one of %q and one of %q", got, on, off)
	}
	same(s.state())
	if status := s.asViewer(viewer, "status"); strings.Contains(status, "has the values of during") {
		t.Errorf("after the block:\n%s", status)
	}
	c.stop()
}
