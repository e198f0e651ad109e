package gitops

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestManualEditsTriggerReconciliation(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 11, 20, 7, minute, 0, 0, time.UTC)}
	}
	pool := func(label string, generation int64, entries ...metav1.ManagedFieldsEntry) *karpv1.NodePool {
		return &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{
			Name: "web", Generation: generation, Labels: map[string]string{kube.InventoryLabel: label}, ManagedFields: entries,
		}}
	}
	ours := func(minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: kube.FieldManager, Time: at(minute)}
	}
	jane := func(minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl-edit", Time: at(minute)}
	}
	status := metav1.ManagedFieldsEntry{Manager: "controller", Subresource: "status", Time: at(9)}
	const label = "nodeplan.default.fleet"
	tests := []struct {
		name          string
		before, after *karpv1.NodePool
		want          bool
	}{
		{"our own apply", pool(label, 1, ours(1)), pool(label, 2, ours(2)), false},
		{"an edit", pool(label, 1, ours(1)), pool(label, 2, ours(1), jane(2)), true},
		{"another edit", pool(label, 2, ours(1), jane(2)), pool(label, 3, ours(1), jane(3)), true},
		{"a status", pool(label, 2, ours(1)), pool(label, 2, ours(1), status), false},
		{"an annotation", pool(label, 2, ours(1)), pool(label, 2, ours(1), jane(2)), false},
		{"an object of another owner", pool("dev", 1, ours(1)), pool("dev", 2, ours(1), jane(2)), false},
		{"the inventory label is removed", pool(label, 1, ours(1)), pool("", 2, ours(1), jane(2)), true},
	}
	for _, tt := range tests {
		if got := changedByOthers().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for label, want := range map[string]bool{label: true, "dev": false} {
		if got := changedByOthers().Delete(event.DeleteEvent{Object: pool(label, 1)}); got != want {
			t.Errorf("a deleted object with the label %s: %v, want %v", label, got, want)
		}
	}
}

// TestApprovalTriggersReconciliation: the status has no generation. That one is used
// up or taken back is no reason.
func TestApprovalTriggersReconciliation(t *testing.T) {
	with := func(a *lkeplanv1alpha1.Approval) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{}
		np.Status.Approval = a
		return np
	}
	jane, joe := &lkeplanv1alpha1.Approval{By: "jane"}, &lkeplanv1alpha1.Approval{By: "joe"}
	for name, tt := range map[string]struct {
		before, after *lkeplanv1alpha1.Approval
		want          bool
	}{
		"given": {nil, jane, true}, "another": {jane, joe, true}, "the same": {jane, jane.DeepCopy(), false},
		"used up": {jane, nil, false}, "none": {nil, nil, false},
	} {
		update := event.UpdateEvent{ObjectOld: with(tt.before), ObjectNew: with(tt.after)}
		if got := approvalGiven(update); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestUpdatesThatChangePlanFor(t *testing.T) {
	before := &lkeplanv1alpha1.NodePlan{}
	for name, change := range map[string]struct {
		change func(*lkeplanv1alpha1.NodePlan)
		want   bool
	}{
		"nothing":               {func(*lkeplanv1alpha1.NodePlan) {}, false},
		"another try":           {func(np *lkeplanv1alpha1.NodePlan) { np.Status.LastAttemptedRevision = "main@sha1:2" }, false},
		"another revision":      {func(np *lkeplanv1alpha1.NodePlan) { np.Status.LastAppliedRevision = "main@sha1:2" }, true},
		"another specification": {func(np *lkeplanv1alpha1.NodePlan) { np.Generation++ }, true},
		"an approval":           {func(np *lkeplanv1alpha1.NodePlan) { np.Status.Approval = &lkeplanv1alpha1.Approval{} }, true},
	} {
		after := before.DeepCopy()
		change.change(after)
		if got := lastAppliedChanged(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != change.want {
			t.Errorf("%s: %v, want %v", name, got, change.want)
		}
	}
}
