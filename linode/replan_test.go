package linode

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
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

// replan gives a claim up whose plan type has no capacity, and returns its store,
// the events, and the result of the claim.
func replan(t *testing.T, nc *karpv1.NodeClaim) (*lke.NodeClaims, <-chan string, karpv1.NodeClaim, error) {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nc).WithStatusSubresource(nc).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).Build()
	p, recorder := provider(t, readyClass(), nodePool(), nc), events.NewFakeRecorder(10)
	p.chooser.Types.Block("g6-standard-4", time.Now().Add(time.Minute))
	claims := lke.NewNodeClaims(c, c, recorder, p.chooser.Replan)
	if err := claims.ReplanOrDelete(t.Context(), string(nc.UID), "no capacity for g6-standard-4"); err != nil {
		t.Fatal(err)
	}
	var got karpv1.NodeClaim
	err := c.Get(t.Context(), client.ObjectKeyFromObject(nc), &got)
	return claims, recorder.Events, got, err
}

// TestAClaimWithoutCapacityGetsItsNextPlan: at once and as itself, so that no
// pod has to be planned anew.
func TestAClaimWithoutCapacityGetsItsNextPlan(t *testing.T) {
	nc := waiting("g6-standard-4", "g6-standard-6", "g6-dedicated-4")
	claims, written, got, err := replan(t, nc)
	if err != nil {
		t.Fatal(err)
	}
	claim, ok := lke.DemandOf(&got)
	if !ok || claim.Group.Plan != "g6-dedicated-4" || claim.Instance != 0 || !nodeclaim.IsPending(got.Status.ProviderID) {
		t.Errorf("the claim waits for %+v", claim)
	}
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: "g6-dedicated-4", linodev1alpha1.LabelInstanceClass: "dedicated",
		linodev1alpha1.LabelInstanceGPUCount: "", "example.com/slot": "7",
	} {
		if got.Labels[key] != want {
			t.Errorf("label %s = %q, want %q", key, got.Labels[key], want)
		}
	}
	if memory := got.Status.Allocatable[corev1.ResourceMemory]; memory.IsZero() ||
		got.Annotations["example.com/kept"] != "yes" {
		t.Errorf("allocatable %v, annotations %v", got.Status.Allocatable, got.Annotations)
	}
	if event := <-written; !strings.Contains(event, "no capacity for g6-standard-4; g6-dedicated-4 replaces it") {
		t.Errorf("event %q", event)
	}
	// An instance of the first plan that comes late is not bound to it.
	late := capacity.Bind{
		Key: capacity.Group{NodePool: "web", Plan: "g6-standard-4"}.Key(), UID: string(nc.UID), Instance: 10,
	}
	if err := claims.Bind(t.Context(), late); err == nil {
		t.Error("a machine of the replaced plan is bound")
	}
}

func TestClaimWithoutAnotherPlanIsDeleted(t *testing.T) {
	nc := waiting("g6-standard-4")
	_, written, _, err := replan(t, nc)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	if event := <-written; !strings.HasPrefix(event, "Warning InsufficientCapacity no capacity") {
		t.Errorf("event %q", event)
	}
}

func TestBoundClaimIsNotDeleted(t *testing.T) {
	nc := waiting("g6-standard-4", "g6-standard-6")
	nc.Status.ProviderID = nodeclaim.LinodeID(10)
	if _, _, got, err := replan(t, nc); err != nil || nodeclaim.PlanOf(&got) != "g6-standard-4" {
		t.Errorf("the claim was changed: %v, %v", nodeclaim.PlanOf(&got), err)
	}
}
