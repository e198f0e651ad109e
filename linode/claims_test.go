package linode

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// waiting is a claim that waits for a g6-standard-4 and would take other plans
// too.
func waiting(plans ...string) *karpv1.NodeClaim {
	nc := decided(1)
	nc.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{in(corev1.LabelInstanceTypeStable, plans...)}
	nc.Labels[linodev1alpha1.LabelInstanceCPU], nc.Labels[linodev1alpha1.LabelInstanceGPUCount] = "4", "1"
	nc.Annotations["example.com/kept"] = "yes"
	return nc
}

// giveUp gives a claim up whose plan has no capacity, and returns what became
// of it.
func giveUp(t *testing.T, nc *karpv1.NodeClaim) (*NodeClaims, karpv1.NodeClaim, error) {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nc).WithStatusSubresource(nc).
		WithIndex(&karpv1.NodeClaim{}, indexUID, func(o client.Object) []string { return []string{string(o.GetUID())} }).Build()
	p := provider(t, readyClass(), nodePool(), nc)
	p.types.Block("g6-standard-4", time.Now().Add(time.Minute))
	claims := NewNodeClaims(c, events.NewFakeRecorder(10))
	claims.ReplanWith(p.Replan)
	if err := claims.GiveUp(t.Context(), string(nc.UID), "no capacity for g6-standard-4"); err != nil {
		t.Fatal(err)
	}
	var got karpv1.NodeClaim
	err := c.Get(t.Context(), client.ObjectKeyFromObject(nc), &got)
	return claims, got, err
}

// TestAClaimWithoutCapacityGetsItsNextPlan: at once and as itself, so that no
// pod has to be planned anew.
func TestAClaimWithoutCapacityGetsItsNextPlan(t *testing.T) {
	nc := waiting("g6-standard-4", "g6-standard-6", "g6-dedicated-4")
	claims, got, err := giveUp(t, nc)
	if err != nil {
		t.Fatal(err)
	}
	claim, ok := claimOf(&got)
	if !ok || claim.Group.Plan != "g6-dedicated-4" || claim.Instance != 0 || !isPending(got.Status.ProviderID) {
		t.Errorf("the claim waits for %+v", claim)
	}
	for key, want := range map[string]string{corev1.LabelInstanceTypeStable: "g6-dedicated-4", linodev1alpha1.LabelInstanceClass: "dedicated", linodev1alpha1.LabelInstanceGPUCount: "", "example.com/slot": "7"} {
		if got.Labels[key] != want {
			t.Errorf("label %s = %q, want %q", key, got.Labels[key], want)
		}
	}
	if memory := got.Status.Allocatable[corev1.ResourceMemory]; memory.IsZero() || got.Annotations["example.com/kept"] != "yes" {
		t.Errorf("allocatable %v, annotations %v", got.Status.Allocatable, got.Annotations)
	}
	if event := <-claims.events.(*events.FakeRecorder).Events; !strings.Contains(event, "no capacity for g6-standard-4; g6-dedicated-4 takes its place") {
		t.Errorf("event %q", event)
	}
	// An instance of the first plan that comes late is not bound to it.
	late := capacity.Bind{Key: capacity.Group{NodePool: "web", Plan: "g6-standard-4"}.Key(), UID: string(nc.UID), Instance: 10}
	if err := claims.Bind(t.Context(), late); err == nil {
		t.Error("a machine of the plan that was given up is bound")
	}
}

// TestAMachineIsBoundToAClaimThatStillWaitsForIt: whatever else has changed of
// it since the cache saw it.
func TestAMachineIsBoundToAClaimThatStillWaitsForIt(t *testing.T) {
	tests := map[string]struct {
		change func(*karpv1.NodeClaim)
		bound  bool
	}{
		"the core has written conditions": {func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched) }, true},
		"somebody has annotated it":       {func(nc *karpv1.NodeClaim) { nc.Annotations["example.com/other"] = "yes" }, true},
		"it waits for another plan": {func(nc *karpv1.NodeClaim) {
			nc.Annotations[AnnotationGroup] = capacity.Group{NodePool: "web", Plan: "g6-dedicated-4"}.Encode()
		}, false},
		"it has its machine":        {func(nc *karpv1.NodeClaim) { nc.Status.ProviderID = linodeID(11) }, false},
		"it is another of its name": {func(nc *karpv1.NodeClaim) { nc.UID = "other" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cached := waiting("g6-standard-4")
			cached.Status.ProviderID = pendingID(string(cached.UID))
			stored := cached.DeepCopy()
			tt.change(stored)
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(stored).WithStatusSubresource(stored).
				WithInterceptorFuncs(interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					list.(*karpv1.NodeClaimList).Items = []karpv1.NodeClaim{*cached.DeepCopy()}
					return nil
				}}).Build()
			claim, _ := claimOf(cached)
			err := NewNodeClaims(c, events.NewFakeRecorder(1)).Bind(t.Context(), capacity.Bind{Key: claim.Group.Key(), UID: claim.UID, Instance: 10})
			var got karpv1.NodeClaim
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), &got); err != nil {
				t.Fatal(err)
			}
			if bound := got.Status.ProviderID == linodeID(10); bound != tt.bound || (err == nil) != tt.bound {
				t.Errorf("provider id %s, error %v; want bound: %v", got.Status.ProviderID, err, tt.bound)
			}
		})
	}
}

func TestAClaimWithoutAnotherPlanGoes(t *testing.T) {
	nc := waiting("g6-standard-4")
	claims, _, err := giveUp(t, nc)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	if event := <-claims.events.(*events.FakeRecorder).Events; !strings.HasPrefix(event, "Warning InsufficientCapacity no capacity") {
		t.Errorf("event %q", event)
	}
}

func TestAClaimThatHasItsMachineIsNotGivenUp(t *testing.T) {
	nc := waiting("g6-standard-4", "g6-standard-6")
	nc.Status.ProviderID = linodeID(10)
	if _, got, err := giveUp(t, nc); err != nil || planOf(&got) != "g6-standard-4" {
		t.Errorf("the claim was changed: %v, %v", planOf(&got), err)
	}
}
