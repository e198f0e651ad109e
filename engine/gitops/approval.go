package gitops

import (
	"fmt"
	"strings"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// awaitsApproval is the outcome of a plan that guards refuse.
func awaitsApproval(rev *revision, p judged, why string) outcome {
	return stalled(lkeplanv1alpha1.ReasonGuarded,
		"revision %s waits for approval: %s Or lift the guard in an earlier revision.",
		rev.Revision, waits(rev.np, p, why)).changed(true)
}

// waits says what a plan waits with, and how it is let pass. What is wrong with an
// approval that was given is a part of it.
func waits(np *lkeplanv1alpha1.NodePlan, p judged, why string) string {
	if why != "" {
		why += "\n"
	}
	return fmt.Sprintf("%s\nIt would: %s\n%sTo let it pass: lkeplan nodeplan approve -n %s %s (plan %s).",
		refusals(p.Plan),
		sentence(p.Plan), why, np.Namespace, np.Name, p.digest)
}

// approved says in an event who has let a plan pass, and what for; "" where nobody had to.
func approved(a *lkeplanv1alpha1.Approval) string {
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("\nApproved by %s: %s", a.By, strings.Join(a.Guards, ", "))
	if a.Reason != "" {
		text += "\n" + a.Reason
	}
	return text
}
