package lke

import (
	"fmt"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

func TestNodeNames(t *testing.T) {
	for name, want := range map[string]string{
		"lke77-855500-0147dc250000": "855500 855500-0147dc250000 true", "lke77-855500": "855500 855500 false",
		"lke778-855500-0147dc250000": "0  false", "node-1": "0  false",
		"lke77-x-0147dc250000": "0 x-0147dc250000 false",
	} {
		pool, slot, ok := SlotOf(77, name)
		if got := fmt.Sprint(pool, " ", slot, " ", ok); got != want {
			t.Errorf("SlotOf(%q) = %s, want %s", name, got, want)
		}
	}
	if got := NodeName(77, "855500-0147dc250000"); got != "lke77-855500-0147dc250000" {
		t.Errorf("NodeName = %s", got)
	}
}

// TestAClaimThatHasHadANodeIsKnown: by its condition, also if the Node is gone.
func TestAClaimThatHasHadANodeIsKnown(t *testing.T) {
	for _, is := range []metav1.ConditionStatus{"", metav1.ConditionUnknown, metav1.ConditionFalse, metav1.ConditionTrue} {
		nc := &karpv1.NodeClaim{}
		nc.Status.ProviderID = nodeclaim.LinodeID(10)
		if is != "" {
			nc.Status.Conditions = append(nc.Status.Conditions, status.Condition{Type: karpv1.ConditionTypeRegistered, Status: is})
		}
		claim, ok := DemandOf(nc)
		if !ok || claim.Instance != 10 || claim.Registered != (is == metav1.ConditionTrue) {
			t.Errorf("%q: %+v, %v", is, claim, ok)
		}
	}
}
