package read

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/follow"
	"github.com/lkeplan/lkeplan/linode"
)

// reader reads a cluster with a node and a pool. May says whether kinds may be listed.
func reader(t *testing.T, kinds []follow.Kind, may func(list client.ObjectList) bool) (*Reader, error) {
	t.Helper()
	linode.Register()
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}},
		&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}},
	).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if !may(list) {
				return refused
			}
			return w.List(ctx, list) // the one in memory has no fields to select by
		},
	}).Build()
	r := &Reader{follow.With(c, time.Second, kinds...)}
	return r, r.Read(t.Context())
}

// TestWhatMayNotBeListedIsSaid: but without pools there is nothing to say.
func TestWhatMayNotBeListedIsSaid(t *testing.T) {
	r, err := reader(t, allKinds(), func(list client.ObjectList) bool {
		switch list.(type) {
		case *corev1.NodeList, *karpv1.NodePoolList:
			return true
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	lists, changed := r.Lists()
	if len(lists.Nodes) != 1 || len(lists.Pools) != 1 || !changed {
		t.Errorf("%d nodes, %d pools, changed: %v", len(lists.Nodes), len(lists.Pools), changed)
	}
	if len(lists.Notes) != len(allKinds())-2 ||
		!slices.Contains(lists.Notes, "DaemonSets cannot be shown: the user may not list them.") {
		t.Errorf("notes %q", lists.Notes)
	}
	if lists.Unread("Nodes", "NodePools") != "" || lists.Unread("Nodes", "Pods", "PersistentVolumes") !=
		"Pods and PersistentVolumes cannot be listed (the user may not)" {
		t.Errorf("unread: %q, %q", lists.Unread("Nodes", "NodePools"), lists.Unread("Nodes", "Pods", "PersistentVolumes"))
	}
	if _, err := reader(t, kinds(), func(client.ObjectList) bool { return false }); err == nil {
		t.Error("without any right it goes well")
	}
}

// TestAServerThatDoesNotAnswerIsNotWaitedForForEver.
func TestAServerThatDoesNotAnswerIsNotWaitedForForEver(t *testing.T) {
	linode.Register()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}).Build()
	r := With(c, time.Second)
	r.Patience = time.Millisecond
	if err := r.Read(t.Context()); err == nil || err.Error() != "list the Nodes: the API server has not answered for 1ms" {
		t.Errorf("it says: %v", err)
	}
}
