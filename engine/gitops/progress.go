package gitops

import (
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/progress"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// pruning is the outcome of an apply that is done but for pools that give up their
// nodes, which it adds to the status; before are the pools as the status had them.
// Without such pools it is the outcome as it was.
func pruning(np *lkeplanv1alpha1.NodePlan, o outcome, p plan.Plan, before []lkeplanv1alpha1.PoolStatus) outcome {
	condemned := progress.Condemned(p)
	if len(condemned) == 0 {
		return o
	}
	np.Status.Pools = append(np.Status.Pools, condemned...)
	text := strings.Join(progress.Sentences(condemned), "\n")
	if progress.Further(before, condemned) {
		o = o.changed(true)
	}
	o.reason, o.working = lkeplanv1alpha1.ReasonPruning, true
	o.message += "\n" + text
	o.event += "\n" + text
	return o
}
