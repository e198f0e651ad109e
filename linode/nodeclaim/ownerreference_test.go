package nodeclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestOwnerReferenceIsRemovedFromNode, and no other.
func TestOwnerReferenceIsRemovedFromNode(t *testing.T) {
	machine := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: "a", UID: "1"}
	claim := metav1.OwnerReference{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "b", UID: "2"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "node-1", OwnerReferences: []metav1.OwnerReference{claim, machine},
	}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).Build()
	at := client.ObjectKeyFromObject(node)
	for range 2 {
		if _, err := NewOwnerReferenceRemover(c, func(string) bool { return true }).Reconcile(t.Context(), ctrl.Request{NamespacedName: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Get(t.Context(), at, node); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]metav1.OwnerReference{machine}, node.OwnerReferences); d != "" {
		t.Error(d)
	}
}
