package linode

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// capped is a CapacityLimit on all pools.
func capped(name string, set func(*lkeplanv1alpha1.CapacityLimitSpec)) *lkeplanv1alpha1.CapacityLimit {
	cl := &lkeplanv1alpha1.CapacityLimit{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set(&cl.Spec)
	return cl
}

func nodes(n int64) func(*lkeplanv1alpha1.CapacityLimitSpec) {
	return func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.Nodes = &n }
}

func dollars(amount string) func(*lkeplanv1alpha1.CapacityLimitSpec) {
	return func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.MonthlyCost = &amount }
}

// numbered is one of many claims that no plan was chosen for.
func numbered(n int) *karpv1.NodeClaim {
	nc := nodeClaim("3", in(corev1.LabelInstanceTypeStable, "g6-standard-4"))
	nc.Name, nc.UID = fmt.Sprintf("web-%05d", n), types.UID(fmt.Sprintf("uid-%05d", n))
	return nc
}

// decided is one that a plan was chosen for.
func decided(n int) *karpv1.NodeClaim {
	nc := numbered(n)
	nc.Annotations = map[string]string{AnnotationGroup: capacity.Group{NodePool: "web", Plan: "g6-standard-4"}.Encode()}
	nc.Labels[corev1.LabelInstanceTypeStable] = "g6-standard-4"
	nc.Status.ProviderID = pendingID(string(nc.UID))
	nc.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	return nc
}

// TestAtOnceAllButTheRoomIsRefused: the cache shows no claim with a plan, so
// that nothing but the reservations keeps the limit.
func TestAtOnceAllButTheRoomIsRefused(t *testing.T) {
	pool := nodePool()
	pool.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("3")}
	tests := []struct {
		name string
		cap  client.Object
		pool *karpv1.NodePool
		want string
	}{
		{"nodes", capped("total", nodes(3)), nodePool(), "CapacityLimit total has no room for a node of g6-standard-4: it allows 3 nodes, and 3 are there or on order"},
		{"cpu", capped("total", func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.CPU = new(resource.MustParse("15500m")) }), nodePool(),
			"it allows 15500m CPUs, 12 CPUs are used, and the node has 4 CPUs"},
		{"memory", capped("total", func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.Memory = new(resource.MustParse("31Gi")) }), nodePool(),
			"it allows 31Gi of memory, 24Gi of memory are used, and the node has 8Gi of memory"},
		{"monthly cost", capped("total", dollars("191.99")), nodePool(), "it allows $191.99 a month, $144 a month are used, and the node has $48 a month"},
		{"the pool's own", capped("wide", nodes(30)), pool, "NodePool web has no room for a node of g6-standard-4: it allows 3 nodes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := []client.Object{readyClass(), tt.pool, tt.cap}
			for n := range 20 {
				objects = append(objects, numbered(n))
			}
			p := provider(t, objects...)
			var (
				wg      sync.WaitGroup
				mu      sync.Mutex
				made    int
				refused error
			)
			for n := range 20 {
				wg.Go(func() {
					_, err := p.Create(t.Context(), numbered(n))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						made++
					} else {
						refused = err
					}
				})
			}
			wg.Wait()
			if made != 3 || !cloudprovider.IsInsufficientCapacityError(refused) || !strings.Contains(refused.Error(), tt.want) {
				t.Errorf("%d were made, want 3; the others: %v; want %q", made, refused, tt.want)
			}
		})
	}
}

// TestAfterARestartTheAPIServerIsAsked: the cache of the new process shows a
// claim as it was before its plan was chosen, and does not show another at all.
func TestAfterARestartTheAPIServerIsAsked(t *testing.T) {
	p := provider(t, readyClass(), nodePool(), capped("total", nodes(2)), numbered(1), numbered(3))
	p.limits.live = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(decided(1), decided(2), numbered(3)).Build()
	if _, err := p.Create(t.Context(), numbered(3)); !cloudprovider.IsInsufficientCapacityError(err) {
		t.Errorf("a third node of two: %v", err)
	}
	if _, err := p.Create(t.Context(), numbered(1)); err != nil {
		t.Errorf("the claim that has its plan already: %v", err)
	}
}

// offered returns the plans that a pool is offered.
func offered(t *testing.T, p *Provider, pool string) (names []string) {
	t.Helper()
	types, err := p.GetInstanceTypes(t.Context(), &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		if len(it.Offerings.Available()) > 0 {
			names = append(names, it.Name)
		}
	}
	return names
}

func TestPlansThatDoNotFitAreNotOffered(t *testing.T) {
	money := capped("money", dollars("130"))
	money.Spec.NodePools = []string{"web"}
	p := provider(t, readyClass(), nodePool(), money, decided(1), decided(2))
	want := []string{"g6-standard-1", "g6-standard-2"} // of 12 and 24 dollars: 34 are left
	if diff := cmp.Diff(want, offered(t, p, "web")); diff != "" {
		t.Errorf("offered to the pool (-want +got):\n%s", diff)
	}
	if got := offered(t, p, "other"); len(got) < 20 {
		t.Errorf("a pool that the limit is not for is offered %v", got)
	}
	unlimited, limited := byName(t, p.types, "g6-standard-4"), typeOf(t, p, "web", "g6-standard-4")
	if len(unlimited.Offerings.Available()) != 1 || len(limited.Offerings) != 1 || limited.Offerings[0].Price != unlimited.Offerings[0].Price {
		t.Error("a hidden type must keep its price: the core prices nodes that are there by it")
	}
}

func typeOf(t *testing.T, p *Provider, pool, name string) *cloudprovider.InstanceType {
	t.Helper()
	types, err := p.GetInstanceTypes(t.Context(), &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range types {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// TestNothingIsAllocatedWhereNothingChanged: the core asks for the types all
// the time.
func TestNothingIsAllocatedWhereNothingChanged(t *testing.T) {
	p := provider(t, readyClass(), nodePool(), capped("money", dollars("130")), decided(1))
	pool := nodePool()
	ask := func() {
		if _, err := p.GetInstanceTypes(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	if n := testing.AllocsPerRun(100, ask); n != 0 {
		t.Errorf("%v allocations for a list that has not changed", n)
	}
	before := typeOf(t, p, "web", "g6-standard-4")
	if _, err := p.limits.Show(t.Context()); err != nil {
		t.Fatal(err)
	}
	if typeOf(t, p, "web", "g6-standard-4") != before {
		t.Error("looking at the claims again made a new type")
	}
}

func BenchmarkGetInstanceTypes(b *testing.B) {
	p := provider(b, readyClass(), nodePool(), capped("money", dollars("130")), decided(1))
	pool := nodePool()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.GetInstanceTypes(b.Context(), pool); err != nil {
			b.Fatal(err)
		}
	}
}

func TestALimitSaysWhatIsUsedAndLeft(t *testing.T) {
	full := capped("full", nodes(2))
	roomy := capped("roomy", func(s *lkeplanv1alpha1.CapacityLimitSpec) {
		s.CPU, s.MonthlyCost, s.NodePools = new(resource.MustParse("20")), new("500"), []string{"web", "absent"}
	})
	p := provider(t, readyClass(), nodePool(), full, roomy, decided(1), decided(2), numbered(3))
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nodePool(), full, roomy).WithStatusSubresource(full).Build()
	recorder := events.NewFakeRecorder(10)
	controller := NewCapacityLimits(c, p.limits, recorder)
	if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	for _, cl := range []*lkeplanv1alpha1.CapacityLimit{full, roomy} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(cl), cl); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{
		fmt.Sprint(*full.Status.Used.Nodes, *full.Status.Room.Nodes, meta.IsStatusConditionTrue(full.Status.Conditions, "Reached"), meta.IsStatusConditionTrue(full.Status.Conditions, "Ready")),
		fmt.Sprint(roomy.Status.Used.CPU, " ", roomy.Status.Room.CPU, " ", *roomy.Status.Room.MonthlyCost, " ", meta.IsStatusConditionTrue(roomy.Status.Conditions, "Reached"), roomy.Status.Room.Nodes == nil),
		meta.FindStatusCondition(roomy.Status.Conditions, "Ready").Message,
	}
	want := []string{"2 0 true true", "8 12 404 false true", "there is no NodePool absent; create it or take it out of spec.nodePools; the other pools are limited"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(recorder.Events) != 2 { // on the limit and on the NodePool
		t.Errorf("%d events, want 2", len(recorder.Events))
	}
	if nodes, money := series(t, "lkeplan_capacity_limit_used")["full nodes"], series(t, "lkeplan_capacity_limit_max")["roomy monthly_cost"]; nodes != 2 || money != 500 {
		t.Errorf("the metrics show %v nodes used and a cap of %v dollars", nodes, money)
	}
	if err := c.Delete(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	if left := series(t, "lkeplan_capacity_limit_used"); len(left) != 4 {
		t.Errorf("the metrics show a limit that is no more: %v", left)
	}
}

// TestWithoutLimitsNothingIsCounted: NodeClaims change often, and to count all of
// them each time is work that grows with the square of a burst.
func TestWithoutLimitsNothingIsCounted(t *testing.T) {
	limit, lists := capped("total", nodes(5)), 0
	p := provider(t, readyClass(), nodePool(), decided(1))
	c := interceptor.NewClient(p.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, claims := list.(*karpv1.NodeClaimList); claims {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	})
	controller := NewCapacityLimits(c, NewLimits(c, c, p.types), events.NewFakeRecorder(10))
	reconciled := func() int {
		lists = 0
		if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		return lists
	}
	if n := reconciled(); n != 0 {
		t.Errorf("%d lists of NodeClaims without a limit", n)
	}
	if err := c.Create(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	if n := reconciled(); n != 1 {
		t.Errorf("%d lists of NodeClaims for a limit, want 1", n)
	}
	// It is gone before the controller has seen it, and Reserve has.
	controller.known = nil
	if err := c.Delete(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	if n := reconciled(); n != 1 || !controller.limits.unlimited() {
		t.Errorf("%d lists of NodeClaims after the last limit went, want 1", n)
	}
}

// series returns the values of a metric by its labels' values.
func series(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := crmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetGauge().GetValue()
		}
	}
	return values
}

func TestAmountsAreRoundedDown(t *testing.T) {
	tests := []struct {
		name, quantity string
		want           int64
	}{
		{"cpu", "1500m", 1500}, {"memory", "1Ki", 1024}, {"nodes", "2500m", 2}, {"nodes", "3", 3},
		{"cpu", "1E", 1<<63 - 1}, {"memory", "100E", 1<<63 - 1},
	}
	for _, tt := range tests {
		if got := amount(corev1.ResourceName(tt.name), resource.MustParse(tt.quantity)); got != tt.want {
			t.Errorf("amount(%s, %s) = %d, want %d", tt.name, tt.quantity, got, tt.want)
		}
	}
}

// BenchmarkReserve is one Create among 250 NodeClaims.
func BenchmarkReserve(b *testing.B) {
	objects := []client.Object{readyClass(), nodePool(), capped("total", nodes(1<<40)), capped("money", dollars("999999999"))}
	for n := range 250 {
		objects = append(objects, decided(n))
	}
	p := provider(b, objects...)
	n := 1000
	b.ReportAllocs()
	for b.Loop() {
		n++
		if _, err := p.Create(b.Context(), numbered(n)); err != nil {
			b.Fatal(err)
		}
	}
}
