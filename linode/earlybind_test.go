package linode

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// TestAMarkThatWasSecondWaitsForWhatWasFirst: in a burst the cache lags, and
// tries that cannot succeed keep the API server from what others want of it.
func TestAMarkThatWasSecondWaitsForWhatWasFirst(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(77, "1-a")}}
	tries := 0
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			tries++
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, nil)
		},
	}).Build()
	fleet := provider(t).fleet
	fleet.seen = look{asked: time.Now(), pools: []lkeapi.Pool{{ID: 1, Tags: []string{groupTag + "0123"}, Count: 1, Slots: []lkeapi.Slot{{ID: "1-a"}}}}}
	again, err := NewEarlyBind(c, fleet).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)})
	if err != nil || tries != 1 || again.RequeueAfter < time.Second {
		t.Errorf("%d tries, then %+v, %v", tries, again, err)
	}
}
