package e2e

import (
	"encoding/json"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nodePlans are NodePlans and their sources.
type nodePlans struct{ commands }

// nodePlan returns a NodePlan as it is now.
func (s nodePlans) nodePlan(name string) *lkeplanv1alpha1.NodePlan {
	s.t.Helper()
	np := &lkeplanv1alpha1.NodePlan{}
	if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, np); err != nil {
		s.t.Fatal(err)
	}
	return np
}

// untilPlan polls a NodePlan until it holds.
func (s nodePlans) untilPlan(name, what string, holds func(*lkeplanv1alpha1.NodePlan) bool) *lkeplanv1alpha1.NodePlan {
	s.t.Helper()
	return s.untilWithin(name, what, time.Minute, holds)
}

// untilWithin polls a NodePlan until it holds, for as long as that may take.
func (s nodePlans) untilWithin(
	name, what string, within time.Duration, holds func(*lkeplanv1alpha1.NodePlan) bool,
) *lkeplanv1alpha1.NodePlan {
	s.t.Helper()
	started := time.Now()
	for {
		np := s.nodePlan(name)
		if holds(np) {
			return np
		}
		if time.Since(started) > slowdown*within {
			raw, _ := json.MarshalIndent(np.Status, "", " ")
			s.t.Fatalf("timed out after %s waiting until %s; the status is:\n%s", slowdown*within, what, raw)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// source writes the HCL of a ConfigMap.
func (s nodePlans) source(name, text string) {
	s.t.Helper()
	s.kube(configMap("default", name, text), "apply", "--server-side", "-f", "-")
}

// approve approves the plan with which a NodePlan waits, as people do.
func (s nodePlans) approve(name string, flags ...string) {
	s.t.Helper()
	s.ends(0, append([]string{"nodeplan", "approve", "-n", "default", "--yes", name}, flags...)...)
}

// reconciliation is that of a NodePlan, which is requested.
func (s nodePlans) reconciliation(nodePlan string) rounds {
	handled := 0
	var asked string
	return rounds{
		what: "NodePlan " + nodePlan,
		next: func() {
			asked = time.Now().Format(time.RFC3339Nano)
			s.kube("", "annotate", "--overwrite", "nodeplan", nodePlan, "reconcile.fluxcd.io/requestedAt="+asked)
		},
		count: func() int {
			if asked != "" && s.nodePlan(nodePlan).Status.LastHandledReconcileAt == asked {
				asked = ""
				handled++
			}
			return handled
		},
	}
}

// edit changes a pool as kubectl edit does.
func (s nodePlans) edit(pool, change string) {
	s.t.Helper()
	s.kube("", "patch", "nodepool", pool, "--type=merge", "--field-manager=kubectl-edit", "-p", change)
}

// setBack reports whether an event says that an edit was corrected.
func (s nodePlans) setBack(what string) bool {
	s.t.Helper()
	return strings.Contains(s.kube("", "get", "events", "--field-selector", "reason=DriftCorrected"),
		what+" by kubectl-edit, and is reverted")
}
