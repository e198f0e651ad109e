package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestKarpenterPlansAgainWhenClaimHasMachine: once for each claim.
func TestKarpenterPlansAgainWhenClaimHasMachine(t *testing.T) {
	with := func(id string) *karpv1.NodeClaim {
		nc := &karpv1.NodeClaim{}
		nc.Status.ProviderID = id
		return nc
	}
	for name, tt := range map[string]struct {
		was, is string
		want    bool
	}{
		"it waits for one":   {"", "lke-pending://8f1c", false},
		"it still waits":     {"lke-pending://8f1c", "lke-pending://8f1c", false},
		"it has one":         {"lke-pending://8f1c", "linode://10", true},
		"it has one as ever": {"linode://10", "linode://10", false},
	} {
		if got := gotMachine(event.UpdateEvent{ObjectOld: with(tt.was), ObjectNew: with(tt.is)}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	planned := 0
	trigger := &bufferTrigger{plan: func(types.UID) { planned++ }}
	if _, err := trigger.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKey{Name: "web-1"}}); err != nil || planned != 1 {
		t.Errorf("planned %d times, %v", planned, err)
	}
}
