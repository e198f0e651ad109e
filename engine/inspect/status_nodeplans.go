package inspect

import (
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// NodePlanStatus is what a NodePlan has applied, and what it waits for.
type NodePlanStatus struct {
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Applied    string     `json:"applied,omitempty"`  // revision
	Tried      string     `json:"tried,omitempty"`    // revision, where it is another one
	Since      *time.Time `json:"since,omitempty"`    // when it got into its state
	Outdated   *int       `json:"outdated,omitempty"` // nodes; left out while that is not known
	NextWindow *time.Time `json:"next_window,omitempty"`
	Message    string     `json:"message,omitempty"` // where it is not simply ready
	pools      []string
}

// nodePlans are the NodePlans, by namespace and name.
func (w *statusReader) nodePlans() []NodePlanStatus {
	plans := []NodePlanStatus{}
	for _, np := range w.Plans {
		plans = append(plans, nodePlanOf(np))
	}
	slices.SortFunc(plans, func(a, b NodePlanStatus) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return plans
}

func nodePlanOf(np *lkeplanv1alpha1.NodePlan) NodePlanStatus {
	s := np.Status
	n := NodePlanStatus{
		Namespace: np.Namespace, Name: np.Name, State: nodeplan.State(np), Applied: s.LastAppliedRevision,
		Outdated: s.Outdated,
	}
	if s.LastAttemptedRevision != s.LastAppliedRevision {
		n.Tried = s.LastAttemptedRevision
	}
	if ready := apimeta.FindStatusCondition(s.Conditions, meta.ReadyCondition); ready != nil {
		n.Since = moment(ready.LastTransitionTime.Time)
	}
	if s.NextWindow != nil {
		n.NextWindow = moment(s.NextWindow.Time)
	}
	if n.State != nodeplan.Ready {
		n.Message = nodeplan.Message(np)
	}
	for _, p := range s.Pools {
		n.pools = append(n.pools, p.Name)
	}
	return n
}
