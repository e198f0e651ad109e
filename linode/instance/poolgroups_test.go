package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// poolOf is a NodePool of a class.
func poolOf(name, class string) *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
		Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: class,
	}
	return pool
}

// apart is a class that gives each NodePool a placement group.
func apart(t *testing.T, policy string) *linodev1alpha1.LinodeNodeClass {
	class := classOf(t, fmt.Sprintf(`{image: x, placementGroup: {perPool: {policy: %s}}}`, policy))
	class.Name = policy
	class.Status.Selected = &linodev1alpha1.Selected{Image: "x"}
	return class
}

// TestEachNodePoolHasItsOwnGroup: it allows five, independent of other NodePools of the class, and no types are offered
// to the one whose group is full.
func TestEachNodePoolHasItsOwnGroup(t *testing.T) {
	class := apart(t, "strict")
	web, batch := poolOf("web", "strict"), poolOf("batch", "strict")
	o := NewOrders(clientWith(class, web, batch), nil)
	full := func(n int, pool *karpv1.NodePool) bool {
		t.Helper()
		_, err := o.Order(t.Context(), claim(fmt.Sprint(pool.Name, n)), class, pool, "g6-standard-4")
		if err != nil && !cloudprovider.IsInsufficientCapacityError(err) {
			t.Error(err)
		}
		const want = "the strict placement group of NodePool web is full: it has the maximum of 5 Linodes"
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		return err != nil
	}
	for n := range 5 {
		if full(n, web) {
			t.Errorf("machine %d is refused", n)
		}
	}
	if !full(5, web) || full(0, batch) {
		t.Error("the groups of two NodePools are counted together")
	}
	for pool, hidden := range map[*karpv1.NodePool]bool{web: true, batch: false} {
		offered, err := o.Offer(t.Context(), class.Name, pool, typesOf(t).List())
		if err != nil {
			t.Fatal(err)
		}
		if got := !slices.ContainsFunc(offered, func(it *cloudprovider.InstanceType) bool {
			return len(it.Offerings.Available()) > 0
		}); got != hidden {
			t.Errorf("nothing is offered to %s: %v", pool.Name, got)
		}
	}
	_, err := o.Order(t.Context(), claim("by-hand"), class, nil, "g6-standard-4")
	if !cloudprovider.IsInsufficientCapacityError(err) {
		t.Errorf("a claim of no NodePool: %v", err)
	}
}

// TestAnotherPolicyIsAnotherGroup, which has room.
func TestAnotherPolicyIsAnotherGroup(t *testing.T) {
	strict, flexible, pool := apart(t, "strict"), apart(t, "flexible"), poolOf("web", "any")
	o := NewOrders(clientWith(strict, flexible, pool), nil)
	for n := range 10 {
		class := strict
		if n >= 5 {
			class = flexible
		}
		if _, err := o.Order(t.Context(), claim(fmt.Sprint(n)), class, pool, "g6-standard-4"); err != nil {
			t.Error(err)
		}
	}
	if strict.Annotations = map[string]string{linodev1alpha1.AnnotationMode: linodev1alpha1.ModeInstance}; strict.Hash() ==
		flexible.Hash() {
		t.Error("a change of the policy replaces no nodes")
	}
}

// inGroup is a claim whose machine is ordered in the group of a NodePool, or in none.
func inGroup(uid string, of *PoolGroup) *karpv1.NodeClaim {
	nc := claim(uid)
	nc.Annotations = map[string]string{nodeclaim.AnnotationOrder: Order{Plan: "p", Image: "x", PoolGroup: of}.Encode()}
	return nc
}

// TestNeededGroups: of NodePools by their classes, and of claims by their orders.
func TestNeededGroups(t *testing.T) {
	plain := classOf(t, `{image: x}`)
	plain.Name = "plain"
	old := PoolGroup{Pool: "gone", Policy: "flexible"}
	broken := claim("broken")
	broken.Annotations = map[string]string{nodeclaim.AnnotationOrder: "{"}
	i := New(Config{Live: clientWith(
		apart(t, "strict"), apart(t, "flexible"), plain,
		poolOf("web", "strict"), poolOf("batch", "flexible"), poolOf("rest", "plain"), poolOf("lost", "nowhere"),
		inGroup("a", &old), inGroup("b", nil), claim("c"), broken,
	)})
	got, err := i.neededGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []PoolGroup{
		old, {Pool: "batch", Policy: "flexible"}, {Pool: "lost", Policy: "flexible"}, {Pool: "lost", Policy: "strict"},
		{Pool: "web", Policy: "strict"},
	}
	if d := cmp.Diff(want, got, cmpopts.SortSlices(func(a, b PoolGroup) bool {
		return a.Pool+a.Policy < b.Pool+b.Policy
	}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// withoutGroups is a Linode that makes no placement groups.
type withoutGroups struct{ API }

func (withoutGroups) PlacementGroups(context.Context) ([]api.PlacementGroup, error) {
	return nil, nil
}

func (withoutGroups) CreatePlacementGroup(
	context.Context, api.PlacementGroupSpec,
) (api.PlacementGroup, error) {
	return api.PlacementGroup{}, &api.Error{Status: 400, Reasons: []api.Reason{{Reason: "No more of them"}}}
}

// TestAMachineWaitsForItsGroup: without it there is nothing that it could be made from, and no token is created for it.
// Machines of other NodePools do not wait with it.
func TestAMachineWaitsForItsGroup(t *testing.T) {
	nc := inGroup("a", &PoolGroup{Pool: "web", Policy: "strict"})
	nc.Status.ProviderID = nodeclaim.PendingID("a")
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "strict"}
	c := fake.NewClientBuilder().WithScheme(clientWith().Scheme()).WithObjects(nc).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).Build()
	i := New(Config{Client: c, API: withoutGroups{}, Types: typesOf(t)})
	spec, err := cluster{i}.Spec(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "placement group of NodePool web") ||
		!strings.Contains(err.Error(), "No more of them") {
		t.Errorf("made from %+v: %v", spec, err)
	}
	one, waits := claimFrom(nc)
	nc.Annotations = inGroup("a", &PoolGroup{Pool: "batch", Policy: "strict"}).Annotations
	if other, _ := claimFrom(nc); !waits || one.Kind == other.Kind {
		t.Errorf("claims of two NodePools have the kind %q", one.Kind)
	}
}
