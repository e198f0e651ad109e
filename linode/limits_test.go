package linode

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestConcurrentCreatesStayWithinTheLimit: the cache shows no claim with a plan, so
// that nothing but the reservations keeps the limit.
func TestConcurrentCreatesStayWithinTheLimit(t *testing.T) {
	pool := nodePool()
	pool.Spec.Limits = karpv1.Limits{"nodes": resource.MustParse("3")}
	tests := []struct {
		name string
		cap  client.Object
		pool *karpv1.NodePool
		want string
	}{
		{
			"nodes", capped("total", nodes(3)), nodePool(),
			"CapacityLimit total has no capacity for a node of g6-standard-4: it allows 3 nodes and has 3, including nodes that are being created",
		},
		{"cpu", capped("total", func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.CPU = new(resource.MustParse("15500m")) }),
			nodePool(),
			"it allows 15500m CPUs and uses 12 CPUs; the node needs 4 CPUs"},
		{"memory", capped("total", func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.Memory = new(resource.MustParse("31Gi")) }),
			nodePool(),
			"it allows 31Gi of memory and uses 24Gi of memory; the node needs 8Gi of memory"},
		{
			"monthly cost", capped("total", dollars("191.99")), nodePool(),
			"it allows $191.99 a month and uses $144 a month; the node needs $48 a month",
		},
		{
			"the pool's own", capped("wide", nodes(30)), pool,
			"NodePool web has no capacity for a node of g6-standard-4: it allows 3 nodes",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := []client.Object{readyClass(), tt.pool, tt.cap}
			for n := range 20 {
				objects = append(objects, undecided(n))
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
					_, err := p.Create(t.Context(), undecided(n))
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
	for mode, annotations := range map[string]map[string]string{
		"on LKE": decided(1).Annotations, "in instance mode": {nodeclaim.AnnotationOrder: "{}"},
	} {
		first, second := decided(1), decided(2)
		first.Annotations, second.Annotations = annotations, annotations
		p := provider(t, readyClass(), nodePool(), capped("total", nodes(2)), undecided(1), undecided(3))
		live := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(first, second, undecided(3)).Build()
		p.chooser.Limits = limits.NewEnforcer(p.chooser.Client, live, p.chooser.Types)
		if _, err := p.Create(t.Context(), undecided(3)); !cloudprovider.IsInsufficientCapacityError(err) {
			t.Errorf("%s: a third node of two: %v", mode, err)
		}
		if _, err := p.Create(t.Context(), undecided(1)); err != nil {
			t.Errorf("%s: the claim that has its plan already: %v", mode, err)
		}
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
	unlimited, limited := byName(t, p.chooser.Types, "g6-standard-4"), typeOf(t, p, "web", "g6-standard-4")
	if len(unlimited.Offerings.Available()) != 1 || len(limited.Offerings) != 1 ||
		limited.Offerings[0].Price != unlimited.Offerings[0].Price {
		t.Error("a hidden type must keep its price: Karpenter prices nodes that are there by it")
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

// TestNothingIsAllocatedWhereNothingChanged: Karpenter asks for the types all
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
	if _, err := p.chooser.Limits.Show(t.Context()); err != nil {
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

// BenchmarkReserve is one Create among 250 NodeClaims.
func BenchmarkReserve(b *testing.B) {
	objects := []client.Object{readyClass(), nodePool(), capped("total",
		nodes(1<<40)), capped("money", dollars("999999999"))}
	for n := range 250 {
		objects = append(objects, decided(n))
	}
	p := provider(b, objects...)
	n := 1000
	b.ReportAllocs()
	for b.Loop() {
		n++
		if _, err := p.Create(b.Context(), undecided(n)); err != nil {
			b.Fatal(err)
		}
	}
}

func byName(t *testing.T, types *instancetype.Set, name string) *cloudprovider.InstanceType {
	t.Helper()
	for _, it := range types.List() {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}
