package instancetype

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestAKubeletSpeaksForItsOwnPlanTypeOnly: which plan type a node is of, its NodeClaim says, and
// not a label that its kubelet may write.
func TestAKubeletSpeaksForItsOwnPlanTypeOnly(t *testing.T) {
	tests := map[string]struct {
		says    string // the label that the kubelet has
		claimed string // the Node that the NodeClaim names
		want    int64  // KiB that g6-standard-2 is taken for, as TestNodesReportSizesOfPlans has them
	}{
		"the Node of a NodeClaim":        {"g6-standard-2", "node", 3700000},
		"it says that it is another":     {"g6-standard-4", "node", 3700000},
		"a Node with another's machine":  {"g6-standard-2", "other", 3798963},
		"a Node whose NodeClaim is gone": {"g6-standard-2", "", 3798963},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			has := corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("3700000Ki"), corev1.ResourceEphemeralStorage: resource.MustParse("78Gi"),
			}
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{
					corev1.LabelInstanceTypeStable: tt.says, karpv1.NodeInitializedLabelKey: "true",
				}},
				Spec: corev1.NodeSpec{ProviderID: "linode://1"},
				Status: corev1.NodeStatus{Capacity: has, Allocatable: has,
					NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.35.0"}},
			}
			claim := &karpv1.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "claim", Labels: map[string]string{
					corev1.LabelInstanceTypeStable: "g6-standard-2",
				}},
				Status: karpv1.NodeClaimStatus{ProviderID: "linode://1", NodeName: tt.claimed},
			}
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node, claim).
				WithIndex(claim, "status.providerID", func(o client.Object) []string {
					return []string{o.(*karpv1.NodeClaim).Status.ProviderID}
				}).Build()
			types := typesIn(t, "us-ord")
			types.SetVersion("1.35")
			observer := NewObserver(c, types, func(client.Object) bool { return true })
			of := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)}
			if _, err := observer.Reconcile(t.Context(), of); err != nil {
				t.Fatal(err)
			}
			allocatable := byName(t, types, "g6-standard-2").Allocatable()
			if got := allocatable.Memory().Value() / 1024; got != tt.want {
				t.Errorf("%d KiB, want %d", got, tt.want)
			}
		})
	}
}
