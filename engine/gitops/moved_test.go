package gitops

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestAPoolThatMovesToAnotherNodePlan is not deleted by the one that it leaves. When
// that one orphans it, the other is notified.
func TestAPoolThatMovesToAnotherNodePlan(t *testing.T) {
	var notified []types.NamespacedName
	w := &Worker{Rivals: NewRivals(func(other types.NamespacedName) { notified = append(notified, other) })}
	leaves, gets := nodePlan("ns", "a"), types.NamespacedName{Namespace: "ns", Name: "b"}
	w.Rivals.Declare(gets, []manifest.Key{{Kind: "NodePool", Name: "web"}})
	of := func(action plan.Action, name string) plan.Plan {
		return plan.Plan{Changes: []plan.Change{{Addr: "pool." + name, Kind: "NodePool", Name: name, Action: action}}}
	}
	err := w.refuseMoved(leaves, of(plan.Delete, "web"))
	o := outcomeOf(outcome{}, err)
	conflict := o.stalled && o.reason == lkeplanv1alpha1.ReasonConflict
	if !conflict || !strings.Contains(o.message, "NodePlan ns/b declares it") {
		t.Errorf("it may be deleted: %+v", o)
	}
	for _, fine := range []plan.Plan{of(plan.Delete, "db"), of(plan.Forget, "web"), of(plan.Update, "web")} {
		if err := w.refuseMoved(leaves, fine); err != nil {
			t.Errorf("%s %s is refused: %v", fine.Changes[0].Action, fine.Changes[0].Name, err)
		}
		w.notifyOrphaned(leaves, fine)
	}
	if !slices.Equal(notified, []types.NamespacedName{gets}) {
		t.Errorf("%v are notified, want %v, and once", notified, gets)
	}
}

// TestADeletedNodePlanIsNoRival, also where its finalizer was removed by hand.
func TestADeletedNodePlanIsNoRival(t *testing.T) {
	var again []types.NamespacedName
	gone, stays := types.NamespacedName{Namespace: "ns", Name: "a"}, types.NamespacedName{Namespace: "ns", Name: "b"}
	rivals := NewRivals(func(np types.NamespacedName) { again = append(again, np) })
	r := &Reconciler{Client: nodePlans{}, Worker: &Worker{Rivals: rivals}}
	for _, np := range []types.NamespacedName{gone, stays} {
		r.Worker.Rivals.Declare(np, []manifest.Key{{Kind: "NodePool", Name: "web"}})
		again = nil
	}
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: gone})
	if err != nil || !slices.Equal(again, []types.NamespacedName{stays}) {
		t.Errorf("%v are reconciled again, want %v: %v", again, stays, err)
	}
}
