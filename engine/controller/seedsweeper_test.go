package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestSweeperUnblocksKarpenter: the provisioner has put a NodeClaim into
// Karpenter's state that was deleted in the same moment. Without the sweeper
// Karpenter never plans again.
func TestSweeperUnblocksKarpenter(t *testing.T) {
	linode.Register()
	ctx := options.ToContext(t.Context(), Karpenter{}.options())
	claim := func(name, providerID string) *karpv1.NodeClaim {
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}}
		nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass",
			Name: "default"}
		nc.Status.ProviderID = providerID
		return nc
	}
	stays := claim("stays", "linode://1")
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(stays).
		WithIndex(&corev1.Node{}, "spec.providerID",
			func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&corev1.Pod{}, "spec.nodeName",
			func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	cluster := state.NewCluster(clock.RealClock{}, c, &linode.Provider{})
	cluster.UpdateNodeClaim(stays)
	if !cluster.Synced(ctx) {
		t.Fatal("Karpenter has not recorded the existing NodeClaim")
	}
	cluster.UpdateNodeClaim(claim("gone", ""))
	if cluster.Synced(ctx) {
		t.Fatal("Karpenter has fixed this: the sweeper can be deleted")
	}
	sweeper := &seedSweeper{client: c, cluster: cluster}
	for _, name := range []string{"stays", "gone"} {
		if _, err := sweeper.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if !cluster.Synced(ctx) || !cluster.NodeClaimExists("stays") {
		t.Errorf("synced: %v; the existing NodeClaim is known: %v", cluster.Synced(ctx),
			cluster.NodeClaimExists("stays"))
	}
}
