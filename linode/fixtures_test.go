package linode

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

var (
	in        = linodetest.In
	nodePool  = linodetest.NodePool
	nodeClaim = linodetest.NodeClaim
	decided   = linodetest.Decided
	undecided = linodetest.Undecided
	capped    = linodetest.CapacityLimit
	nodes     = linodetest.Nodes
	dollars   = linodetest.Dollars
)

// shown is a cluster whose pools LKE shows, or fails to; nothing that was released
// is ever gone.
type shown struct {
	pools  []api.Pool
	last   []api.Pool // what it showed before it failed
	err    error
	traits capacity.Traits
}

func (s *shown) Pools(context.Context, time.Time) ([]api.Pool, error) { return s.pools, s.err }
func (s *shown) Last() []api.Pool                                     { return s.last }
func (s *shown) Release(string) bool                                  { return false }
func (s *shown) Traits(instance int) (capacity.Traits, bool)          { return s.traits, instance != 0 }

// TestMain registers the kinds first, so that each test passes alone.
func TestMain(m *testing.M) {
	instancetype.Register()
	m.Run()
}

// provider returns a Provider in us-ord that sees the objects.
func provider(t testing.TB, objects ...client.Object) *Provider {
	t.Helper()
	return providerOf(t, &shown{}, objects...)
}

// providerOf returns one whose LKE shows that.
func providerOf(t testing.TB, shows *shown, objects ...client.Object) *Provider {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).
		WithIndex(&corev1.Node{}, "spec.providerID",
			func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
	types := instancetype.New(facts, "us-ord", catalog.Standard)
	machines := lke.New(c, types, 77, catalog.Standard, shows)
	chooser := &Chooser{Client: c, Orders: machines, Types: types, Limits: limits.NewEnforcer(c, c, types)}
	return NewProvider(chooser, machines)
}

// lkeOf are the machines of a provider.
func lkeOf(p *Provider) *lke.Machines { return p.machines.(*lke.Machines) }

func readyClass() *linodev1alpha1.LinodeNodeClass {
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.StatusConditions().SetTrue(linodev1alpha1.ConditionValidationSucceeded)
	return class
}
