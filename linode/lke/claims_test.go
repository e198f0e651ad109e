package lke

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestAMachineIsBoundToAClaimThatStillWaitsForIt: no matter what else has changed in
// it since the cache saw it.
func TestAMachineIsBoundToAClaimThatStillWaitsForIt(t *testing.T) {
	tests := map[string]struct {
		change func(*karpv1.NodeClaim)
		bound  bool
	}{
		"Karpenter has written conditions": {
			func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched) }, true,
		},
		"it was annotated": {func(nc *karpv1.NodeClaim) { nc.Annotations["example.com/other"] = "yes" }, true},
		"it waits for another plan": {func(nc *karpv1.NodeClaim) {
			nc.Annotations[nodeclaim.AnnotationGroup] = capacity.Group{NodePool: "web", Plan: "g6-dedicated-4"}.Encode()
		}, false},
		"it has its machine":        {func(nc *karpv1.NodeClaim) { nc.Status.ProviderID = nodeclaim.LinodeID(11) }, false},
		"it is another of its name": {func(nc *karpv1.NodeClaim) { nc.UID = "other" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cached := linodetest.Decided(1)
			cached.Status.ProviderID = nodeclaim.PendingID(string(cached.UID))
			stored := cached.DeepCopy()
			tt.change(stored)
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(stored).WithStatusSubresource(stored).
				WithInterceptorFuncs(interceptor.Funcs{List: func(
					_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption,
				) error {
					list.(*karpv1.NodeClaimList).Items = []karpv1.NodeClaim{*cached.DeepCopy()}
					return nil
				}}).Build()
			claim, _ := DemandOf(cached)
			err := NewNodeClaims(c, c, events.NewFakeRecorder(1), nil).Bind(t.Context(),
				capacity.Bind{Key: claim.Group.Key(), UID: claim.UID, Instance: 10})
			var got karpv1.NodeClaim
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), &got); err != nil {
				t.Fatal(err)
			}
			if bound := got.Status.ProviderID == nodeclaim.LinodeID(10); bound != tt.bound || (err == nil) != tt.bound {
				t.Errorf("provider id %s, error %v; want bound: %v", got.Status.ProviderID, err, tt.bound)
			}
		})
	}
}

// TestNewLeaderKnowsBindingsOfPreviousLeader: its cache may not.
func TestNewLeaderKnowsBindingsOfPreviousLeader(t *testing.T) {
	byProviderID := func(o client.Object) []string { return []string{o.(*karpv1.NodeClaim).Status.ProviderID} }
	reader := func(claims ...client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(claims...).WithStatusSubresource(claims...).
			WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).
			WithIndex(&karpv1.NodeClaim{}, "status.providerID", byProviderID).Build()
	}
	a, b := linodetest.Decided(1), linodetest.Decided(2)
	bound := a.DeepCopy()
	bound.Status.ProviderID = nodeclaim.LinodeID(10)
	cache, live := reader(a.DeepCopy(), b.DeepCopy()), reader(bound, b.DeepCopy())
	claims := NewNodeClaims(cache, live, events.NewFakeRecorder(1), nil)
	instances := func() map[string]int {
		list, err := claims.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, c := range list {
			found[c.UID] = c.Instance
		}
		return found
	}
	if got := instances(); got[string(a.UID)] != 10 || len(got) != 2 {
		t.Errorf("the first list shows %v, want the machine that is stored", got)
	}
	if got := instances(); got[string(a.UID)] != 0 {
		t.Errorf("the second list is not the cache's: %v", got)
	}
	claim, _ := DemandOf(b)
	later := NewNodeClaims(reader(bound.DeepCopy(), b.DeepCopy()), nil, events.NewFakeRecorder(1), nil)
	err := later.Bind(t.Context(), capacity.Bind{Key: claim.Group.Key(), UID: claim.UID, Instance: 10})
	if err == nil || err.Error() != "the Linode 10 is the machine of NodeClaim "+a.Name {
		t.Errorf("the machine of another is bound: %v", err)
	}
}

// TestAConflictEndsNoClaim: the claim was written meanwhile, and is given another plan type later.
func TestAConflictEndsNoClaim(t *testing.T) {
	nc := linodetest.Decided(1)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, nc.Name, nil)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nc).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(
			context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption,
		) error {
			return conflict
		}}).Build()
	replan := func(_ context.Context, nc *karpv1.NodeClaim) (*karpv1.NodeClaim, error) { return nc.DeepCopy(), nil }
	err := NewNodeClaims(c, nil, events.NewFakeRecorder(1), replan).ReplanOrDelete(t.Context(), string(nc.UID), "no capacity")
	if !apierrors.IsConflict(err) {
		t.Errorf("ReplanOrDelete: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(nc), nc); err != nil {
		t.Errorf("the claim: %v", err)
	}
}
