package lke

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// shown is a cluster whose pools LKE shows, or fails to; nothing that was released
// is ever gone.
type shown struct {
	pools []api.Pool
	last  []api.Pool // what it showed before it failed
	err   error
}

func (s *shown) Pools(context.Context, time.Time) ([]api.Pool, error) { return s.pools, s.err }
func (s *shown) Last() []api.Pool                                     { return s.last }
func (s *shown) Release(string) bool                                  { return false }
func (s *shown) Traits(instance int) (capacity.Traits, bool)          { return capacity.Traits{}, instance != 0 }

// TestMain registers the kinds first, so that each test passes alone.
func TestMain(m *testing.M) {
	instancetype.Register()
	m.Run()
}

// provider returns a Provider in us-ord of a cluster of a tier, whose LKE shows that and whose API server
// has the objects.
func provider(t testing.TB, tier catalog.Tier, shows *shown, objects ...client.Object) *linode.Provider {
	t.Helper()
	return providerOf(t, tier, shows, fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).
		WithIndex(&corev1.Node{}, "spec.providerID",
			func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build())
}

func providerOf(t testing.TB, tier catalog.Tier, shows *shown, c client.Client) *linode.Provider {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	types := instancetype.New(facts, "us-ord", catalog.Standard)
	machines := New(c, types, 77, tier, shows)
	return linode.NewProvider(&linode.Chooser{
		Client: c, Orders: machines, Types: types, Limits: limits.NewEnforcer(c, c, types),
	}, machines)
}

// classes is the controller of the classes of a cluster of the tier.
func classes(
	c client.Client, tier catalog.Tier, control controlPlane, account account, recorder events.EventRecorder,
) *linode.NodeClass {
	cluster := api.Cluster{Tier: string(tier)}
	return linode.NewNodeClass(c, linode.Linode{
		Cluster: cluster, Rules: NewClasses(c, cluster, control, account, recorder),
		Standing: api.NewStanding(api.ScopePools),
	}, recorder)
}

func readyClass() *linodev1alpha1.LinodeNodeClass {
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.StatusConditions().SetTrue(linodev1alpha1.ConditionValidationSucceeded)
	return class
}

// shelf is an account with one version and one firewall.
type shelf struct{ err error }

func (s shelf) Versions(context.Context, catalog.Tier) ([]string, error) {
	return []string{"v1.34.1+lke1", "v1.33.4+lke2"}, s.err
}

func (s shelf) Firewall(_ context.Context, id int) error {
	if s.err == nil && id != 7 {
		return &api.Error{Status: 404}
	}
	return s.err
}
