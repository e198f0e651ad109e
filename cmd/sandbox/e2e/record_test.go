package e2e

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestGuardsCannotBeDisabled: a commit that lifts its own guards waits, also where the
// record of what was last applied is deleted, emptied or exchanged, and where the
// status is lost. Without a change the record is recreated.
func TestGuardsCannotBeDisabled(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	const guarded, lifted = "\nguards {\n  max_deleted_pools = 0\n}\n", "\nguards {\n  max_deleted_pools = 9\n}\n"
	good := fleet(guarded, "a", "b")
	s.source("fleet", good)
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "the first revision is applied", because(lkeplanv1alpha1.ReasonSucceeded))

	record := func(args ...string) func() {
		return func() { s.kube("", append([]string{args[0], "nodeplanrecord", "fleet"}, args[1:]...)...) }
	}
	for what, spoil := range map[string]func(){
		"as it is":             func() {},
		"without its record":   record("delete"),
		"with an empty record": record("patch", "--type=merge", "-p", `{"files":null}`),
		"with another path":    record("patch", "--type=merge", "-p", `{"path":"elsewhere"}`),
		"without its status": func() {
			s.kube("", "patch", "nodeplan", "fleet", "--subresource=status", "--type=merge", "-p",
				`{"status":{"lastAppliedRevision":null,"lastAppliedDigest":null,"inventory":null}}`)
			record("delete")()
		},
	} {
		spoil()
		s.source("fleet", fleet(lifted, "a"))
		np := s.untilPlan("fleet", what+" a change waits", because(lkeplanv1alpha1.ReasonGuarded))
		if message := conditions.GetMessage(np, meta.ReadyCondition); what != "as it is" &&
			!strings.Contains(message, "The last applied guards are unknown") {
			t.Errorf("%s: %s", what, message)
		}
		if got := s.pools(); len(got) != 2 {
			t.Errorf("%s: pools %v, want a and b", what, got)
		}
		s.source("fleet", good)
		s.untilPlan("fleet", "what was applied is there again", because(lkeplanv1alpha1.ReasonSucceeded))
	}
}
