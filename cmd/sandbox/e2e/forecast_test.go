package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/forecast"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestForecastIsComparedWithWhatHappened: the plan of a revision foretells two replaced nodes and a
// maximum cost. Both nodes are counted once, although the controller is killed in between, and after
// the NodePlan was deleted and created again, they are not counted for it. When a user raises the
// limit and pods need more nodes, the cost leaves the forecast, and lkeplan history explains why.
func TestForecastIsComparedWithWhatHappened(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	limited := "  limits = { cpu = 12 }\n"
	plan := strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet") + "  driftIgnore: [{kind: NodePool, name: web, paths: [/spec/limits]}]\n"
	s.source("fleet", webFleet("", limited))
	s.kube(plan, "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 2))
	s.until("two pods run on two nodes", time.Minute, func(now state) bool {
		return now.running == 2 && now.matched() && len(now.nodes) == 2
	})

	began := time.Now()
	s.source("fleet", webFleet("", limited+"  labels = { tier = \"web\" }\n"))
	np := s.untilPlan("fleet", "the forecast is in the status", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(np.Status.Forecasts) == 2
	})
	total := np.Status.Forecasts[0].Total.Forecast
	if total.Replaced == nil || *total.Replaced != 2 || total.Nodes == nil || *total.Nodes != 2 || total.Cost == "" || total.CostCeiling == "" {
		t.Errorf("forecast %+v", total)
	}
	if first := np.Status.Forecasts[1]; first.Closed == nil || first.Total.Actual.Replaced != 0 {
		t.Errorf("the entry of the first revision: %+v", first)
	}
	s.until("one node was replaced", 3*time.Minute, func(now state) bool { return now.linode.Made >= 3 })
	c.kill()
	c = s.startController()
	actual := func(np *lkeplanv1alpha1.NodePlan) lkeplanv1alpha1.NodeActual {
		if len(np.Status.Forecasts) == 0 {
			return lkeplanv1alpha1.NodeActual{}
		}
		return np.Status.Forecasts[0].Total.Actual
	}
	s.untilWithin("fleet", "both nodes are counted", 4*time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
		a := actual(np)
		return a.Replaced == 2 && a.Outdated != nil && *a.Outdated == 0 && a.CostSeconds > 0
	})
	c.kill()
	c = s.startController()

	s.edit("web", `{"spec":{"limits":{"cpu":"40"}}}`)
	s.kube("", "scale", "deployment", "web", "--replicas=6")
	np = s.untilWithin("fleet", "the cost leaves the forecast", 4*time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
		return len(np.Status.Forecasts) > 0 && len(np.Status.Drift) > 0 &&
			forecast.Outside(forecast.Findings(np.Status.Forecasts[0], np.Status.Drift))
	})
	if a, most := actual(np), int64(time.Since(began)/time.Second); a.Replaced != 2 || a.ReplacedAtLeast || a.Seconds > most {
		t.Errorf("measured %+v in %d seconds", a, most)
	}
	mustContain(t, s.run("lkeplan", "history", "fleet", "--pools"), "2 of 2", "!", "has set spec.limits.cpu of pool web")
	mustContain(t, s.run("lkeplan", "history", "-o", "json"), `"outside": true`)

	s.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec":{"deletionPolicy":"Orphan"}}`)
	s.kube("", "delete", "nodeplan", "fleet", "--wait")
	s.kube(plan, "apply", "-f", "-")
	np = s.untilPlan("fleet", "it is ready again", because(lkeplanv1alpha1.ReasonSucceeded))
	for _, e := range np.Status.Forecasts {
		if e.Total.Actual.Replaced != 0 {
			t.Errorf("the new NodePlan counts nodes of the deleted one: %+v", e)
		}
	}
	c.stop()
}
