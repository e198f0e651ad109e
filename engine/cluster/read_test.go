package cluster

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// reader reads a cluster with a node and a pool. May reports whether kinds may be listed.
func reader(t *testing.T, kinds []Kind, may func(list client.ObjectList) bool) (Snapshot, error) {
	t.Helper()
	instancetype.Register()
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
	return Read(t.Context(), c, kinds...)
}

// TestWhatMayNotBeListedIsSaid: but without a kind that is needed there is nothing to say.
func TestWhatMayNotBeListedIsSaid(t *testing.T) {
	lists, err := reader(t, AllKinds(), func(list client.ObjectList) bool {
		switch list.(type) {
		case *corev1.NodeList, *corev1.PodList, *karpv1.NodePoolList, *karpv1.NodeClaimList, *linodev1alpha1.LinodeNodeClassList:
			return true
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lists.Nodes) != 1 || len(lists.Pools) != 1 {
		t.Errorf("%d nodes, %d pools", len(lists.Nodes), len(lists.Pools))
	}
	if len(lists.Notes) != len(AllKinds())-5 ||
		!slices.Contains(lists.Notes, "DaemonSets cannot be shown: the user may not list daemonsets.apps.") {
		t.Errorf("notes %q", lists.Notes)
	}
	if lists.Unread("Nodes", "NodePools") != "" || lists.Unread("Nodes", "Events", "PersistentVolumes") !=
		"Events and PersistentVolumes cannot be listed" {
		t.Errorf("unread: %q, %q", lists.Unread("Nodes", "NodePools"), lists.Unread("Nodes", "Events", "PersistentVolumes"))
	}
	if _, err := reader(t, StatusKinds(), func(client.ObjectList) bool { return false }); err == nil {
		t.Error("without any right it goes well")
	}
}

// TestWhatIsNotListedIsNotNone: a list that the cluster does not give says nothing, and where
// it does not know the kind there are none.
func TestWhatIsNotListedIsNotNone(t *testing.T) {
	kind := schema.GroupKind{Kind: "NodePlan"}
	for name, tt := range map[string]struct {
		err  error
		want []string
	}{
		"it is forbidden":       {apierrors.NewForbidden(schema.GroupResource{}, "", nil), []string{"NodePlans"}},
		"there is no such path": {apierrors.NewNotFound(schema.GroupResource{}, ""), []string{"NodePlans"}},
		"the kind is not known": {&meta.NoKindMatchError{GroupKind: kind}, nil},
		"nothing is in its way": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lists, err := asked(t, func(_ context.Context, list client.ObjectList) error {
				if _, plans := list.(*lkeplanv1alpha1.NodePlanList); plans {
					return tt.err
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(lists.Unlisted, tt.want) {
				t.Errorf("%q, want %q", lists.Unlisted, tt.want)
			}
		})
	}
}

// asked is what is read of a cluster with nothing in it, which answers each list so.
func asked(t *testing.T, answer func(ctx context.Context, list client.ObjectList) error) (Snapshot, error) {
	t.Helper()
	instancetype.Register()
	return Read(t.Context(), fake.NewClientBuilder().WithScheme(scheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			return answer(ctx, list)
		},
	}).Build(), StatusKinds()...)
}
