package instance

import (
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestANodeIsRegisteredAgainUnderItsOwnNameOnly: a kubelet that names another machine's provider
// id does not have the NodeClaim of that machine registered again, which would end it.
func TestANodeIsRegisteredAgainUnderItsOwnNameOnly(t *testing.T) {
	own, other := Identity{Name: "prod"}.Node("uid-b"), Identity{Name: "prod"}.Node("uid-a")
	for name, again := range map[string]bool{own: true, other: false} {
		claim := &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "uid-b"}, Status: karpv1.NodeClaimStatus{ProviderID: "linode://2"},
		}
		claim.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))},
			Spec:       corev1.NodeSpec{ProviderID: "linode://2"},
		}
		i, _ := countingIn(t, &listing{}, claim, node)
		of := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)}
		if _, err := NewRejoiner(i).Reconcile(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		var is karpv1.NodeClaim
		if err := i.cfg.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), &is); err != nil {
			t.Fatal(err)
		}
		registered := is.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered)
		if registered.IsUnknown() != again {
			t.Errorf("Node %s (the claim's is %s): registered again: %v", name, own, registered.IsUnknown())
		}
	}
}
