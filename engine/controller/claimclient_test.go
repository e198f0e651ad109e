package controller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
)

// TestNodeClaimsAreMadeWithTheirFinalizer: and nothing else is.
func TestNodeClaimsAreMadeWithTheirFinalizer(t *testing.T) {
	linode.Register()
	c := claimClient{fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()}
	for _, o := range []client.Object{
		&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b", Finalizers: []string{karpv1.TerminationFinalizer}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
	} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		var want []string
		if _, claim := o.(*karpv1.NodeClaim); claim {
			want = []string{karpv1.TerminationFinalizer}
		}
		if got := o.GetFinalizers(); !slices.Equal(got, want) {
			t.Errorf("%T %s has finalizers %v, want %v", o, o.GetName(), got, want)
		}
	}
}
