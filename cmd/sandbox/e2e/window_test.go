package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestAChangeWaitsForItsWindow: it says when it goes, and goes then by itself.
func TestAChangeWaitsForItsWindow(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	opens := time.Now().UTC().Truncate(time.Minute).Add(3 * time.Minute)
	windows := fmt.Sprintf("\nguards {\n  window \"soon\" {\n    schedule = %q\n    duration = \"1h\"\n  }\n}\n",
		opens.Format("4 15 * * *"))
	s.source("fleet", fleet(windows, "a"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "what touches no node waits for no window", because(lkeplanv1alpha1.ReasonSucceeded))

	s.source("fleet", strings.ReplaceAll(fleet(windows, "a"), "  weight ", "  labels = { team = \"web\" }\n  weight "))
	waits := s.untilPlan("fleet", "the change waits", func(np *lkeplanv1alpha1.NodePlan) bool { // conditions are written first
		return because(lkeplanv1alpha1.ReasonOutsideWindow)(np) && np.Status.NextWindow != nil
	})
	if at := waits.Status.NextWindow; at == nil || !at.Time.Equal(opens) {
		t.Errorf("it waits until %v, want %v", at, opens)
	}
	if !conditions.IsUnknown(waits, meta.ReadyCondition) || !conditions.IsTrue(waits, meta.ReconcilingCondition) {
		t.Errorf("conditions %v", waits.Status.Conditions)
	}
	mustContain(t, conditions.GetMessage(waits, meta.ReadyCondition), opens.Format("15:04 UTC"), "1 to update")
	s.until("its time has come", 4*time.Minute, func(state) bool {
		if team := s.poolsByName()["a"].Spec.Template.Labels["team"]; team != "web" {
			return false
		}
		if time.Now().Before(opens) {
			t.Errorf("it was applied before its window opened")
		}
		return true
	})
	s.untilPlan("fleet", "it is applied, and waits no longer", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && np.Status.NextWindow == nil
	})
}
