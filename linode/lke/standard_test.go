package lke

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ask holds claims that wait for a machine, and get one.
type ask struct {
	Claims
	mu     sync.Mutex
	claims map[string]capacity.Claim
	warned []string
}

func (w *ask) List(context.Context) (all []capacity.Claim, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.claims {
		all = append(all, c)
	}
	return all, nil
}

func (w *ask) Bind(_ context.Context, b capacity.Bind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.claims[b.UID]
	c.Instance = b.Instance
	w.claims[b.UID] = c
	return nil
}

func (w *ask) Extend(context.Context, string) error { return nil }

func (w *ask) NotDeleted(ctx context.Context, uid, reason, text string) error {
	w.Warn(ctx, uid, reason, text)
	return nil
}

func (w *ask) Warn(_ context.Context, uid, reason, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warned = append(w.warned, uid+" "+reason+" "+text)
}

func (w *ask) WarnNodePool(ctx context.Context, pool, reason, text string) {
	w.Warn(ctx, pool, reason, text)
}

// TestPoolsMatchTheGroupsOfTheirClass: for any class of either tier, the pool that is created for a claim of it is
// what the claim's group requests, so that one pool with one node is created for one claim, and nothing is corrected.
func TestPoolsMatchTheGroupsOfTheirClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 26))
	for n := range 60 {
		tier := []catalog.Tier{catalog.Standard, catalog.Enterprise}[n%2]
		class := readyClass()
		if n%3 > 0 {
			class.Spec.FirewallID = new(1 + rng.IntN(9))
		}
		class.Spec.DiskEncryption = []string{"", "enabled", "disabled"}[rng.IntN(3)]
		class.Spec.Tags = []string{"team=web", "env:prod", "abc"}[:rng.IntN(4)]
		version := "1.33"
		if tier == catalog.Enterprise {
			version = "v1.33.6+lke7"
		}
		class.Status.KubernetesVersion = version
		nc, pool := linodetest.NodeClaim("1"), linodetest.NodePool()
		if rng.IntN(2) == 0 {
			nc.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
		}
		t.Run(fmt.Sprintf("%d %s", n, tier), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, err := sim.New(sim.Config{Tier: string(tier), ClusterID: 77, KubernetesVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				linodeAPI, err := api.New("http://linode.test", "token", api.Options{Transport: sim.Client().Transport})
				if err != nil {
					t.Fatal(err)
				}
				facts, err := catalog.Embedded()
				if err != nil {
					t.Fatal(err)
				}
				types := instancetype.New(facts, "us-ord", tier)
				ordered, err := New(nil, types, 77, tier, &shown{}).Order(t.Context(), nc, class, pool, "g6-standard-4")
				if err != nil {
					t.Fatal(err)
				}
				group, err := capacity.DecodeGroup(ordered[nodeclaim.AnnotationGroup])
				if err != nil {
					t.Fatal(err)
				}
				cluster := api.Cluster{ID: 77, Region: "us-ord", Tier: string(tier), K8sVersion: version}
				log := slog.New(slog.DiscardHandler)
				claims := &ask{claims: map[string]capacity.Claim{"a": {UID: "a", Group: group, Created: time.Now()}}}
				f := NewSyncer(SyncerConfig{
					API: linodeAPI, Cluster: cluster, ControlPlane: NewControlPlane(linodeAPI, cluster, types, log), Claims: claims,
					Types: types, Log: log,
				})
				ctx, stop := context.WithCancel(t.Context())
				go f.Start(ctx)
				time.Sleep(20 * time.Minute)
				stop()
				synctest.Wait()
				stats, pools := sim.Stats(), f.Last()
				if stats.Made != 1 || stats.Writes != 1 || len(pools) != 1 || len(claims.warned) > 0 {
					t.Fatalf("for one claim of %+v there were %d machines, %d writes and %d pools: %v", class.Spec, stats.Made,
						stats.Writes, len(pools), claims.warned)
				}
				if traits := TraitsOf(pools[0]); !group.CanHold(traits) || GroupOf(pools[0]) != group.Key() {
					t.Errorf("pool %+v is not of group %+v", traits, group)
				}
			})
		})
	}
}

// TestFirewallWithoutEffectIsReported by a condition and one event of the class, which stays Ready, and is not said of
// Enterprise nor when the firewall was taken out.
func TestFirewallWithoutEffectIsReported(t *testing.T) {
	for tier, want := range map[catalog.Tier]bool{catalog.Standard: true, catalog.Enterprise: false} {
		class := &linodev1alpha1.LinodeNodeClass{}
		class.Name, class.Spec.FirewallID = "default", new(8) // which the account does not have
		if tier == catalog.Enterprise {
			class.Spec.FirewallID = new(7)
		}
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).
			WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(client.Object) []string { return nil }).Build()
		recorder := events.NewFakeRecorder(20)
		claim := linodetest.Decided(1)
		claim.Annotations[nodeclaim.AnnotationGroup] = capacity.Group{NodePool: "web", Plan: "g6-standard-4"}.Encode()
		rules := NewClasses(c, api.Cluster{Tier: string(tier)}, plane("1.33"), shelf{}, recorder)
		if drifted := rules.Drifted(claim, class); drifted == want {
			t.Errorf("%s: a node without the firewall has drifted: %v", tier, drifted)
		}
		controller := classes(c, tier, plane("1.33"), shelf{}, recorder)
		look := func() bool {
			for range 3 {
				if _, err := controller.Reconcile(t.Context(),
					ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
				t.Fatal(err)
			}
			if !class.StatusConditions().Root().IsTrue() {
				t.Errorf("%s: the class is not Ready", tier)
			}
			for _, condition := range class.Status.Conditions {
				if condition.Type == linodev1alpha1.ConditionFirewallWithoutEffect {
					return true
				}
			}
			return false
		}
		if got := look(); got != want {
			t.Errorf("%s: the condition is there: %v", tier, got)
		}
		said := 0
		for len(recorder.Events) > 0 {
			if strings.Contains(<-recorder.Events, "FirewallWithoutEffect") {
				said++
			}
		}
		if (said == 1) != want || said > 1 {
			t.Errorf("%s: %d events", tier, said)
		}
		class.Spec.FirewallID = nil
		if err := c.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		if look() {
			t.Errorf("%s: the condition is there without a firewall", tier)
		}
	}
}
