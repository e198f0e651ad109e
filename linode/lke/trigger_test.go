package lke

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestTheTriggerKnowsWhetherMoreClaimsCome: those that Karpenter has made and
// that have no plan yet.
func TestTheTriggerKnowsWhetherMoreClaimsCome(t *testing.T) {
	claim := func(name, id string) *karpv1.NodeClaim {
		nc := linodetest.NodeClaim("1")
		nc.Name, nc.Status.ProviderID = name, id
		return nc
	}
	leaving := claim("leaving", "")
	leaving.DeletionTimestamp, leaving.Finalizers = new(metav1.Now()), []string{karpv1.TerminationFinalizer}
	foreign := claim("foreign", "")
	foreign.Spec.NodeClassRef.Group = "example.com"
	waiting, has := claim("waits", nodeclaim.PendingID("1")), claim("has", nodeclaim.LinodeID(10))
	tests := map[string]struct {
		claims []client.Object
		now    bool
	}{
		"it is the only one":                {[]client.Object{waiting}, true},
		"the others have plans or machines": {[]client.Object{waiting, has}, true},
		"the others ask for nothing of us":  {[]client.Object{waiting, leaving, foreign}, true},
		"another has no plan yet":           {[]client.Object{waiting, claim("new", "")}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fleet := NewSyncer(SyncerConfig{Cluster: api.Cluster{ID: 77}})
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tt.claims...).Build()
			if _, err := NewTrigger(c, fleet).Reconcile(t.Context(), of(waiting)); err != nil {
				t.Fatal(err)
			}
			if soon, now := fleet.loop.Woken(); now != tt.now || soon == tt.now {
				t.Errorf("woken now: %v, soon: %v; want now: %v", now, soon, tt.now)
			}
		})
	}
}

// TestWaitingClaimWithAMachineWakesTheLoop: as long as only the cache may lag the loop is not woken, and then it is.
func TestWaitingClaimWithAMachineWakesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting, bound := linodetest.NodeClaim("1"), linodetest.NodeClaim("1")
		waiting.Status.ProviderID, bound.Status.ProviderID = nodeclaim.PendingID("1"), nodeclaim.LinodeID(10)
		if !nodeclaim.Waits(waiting) || nodeclaim.Waits(bound) {
			t.Fatal("the change back from a machine to a pending id is no event")
		}
		fleet := NewSyncer(SyncerConfig{Cluster: api.Cluster{ID: 77}})
		fleet.loop.Do(func(m *capacity.Memory, now time.Time) {
			m.Bound(capacity.Bind{UID: string(waiting.UID), Instance: 10}, now)
		})
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(waiting).Build()
		trigger := NewTrigger(c, fleet)
		result, err := trigger.Reconcile(t.Context(), of(waiting))
		if soon, now := fleet.loop.Woken(); err != nil || result.RequeueAfter == 0 || now || soon {
			t.Fatalf("looked at again in %s, error %v, woken: %v, %v", result.RequeueAfter, err, now, soon)
		}
		time.Sleep(result.RequeueAfter)
		result, err = trigger.Reconcile(t.Context(), of(waiting))
		if _, now := fleet.loop.Woken(); err != nil || !result.IsZero() || !now {
			t.Errorf("afterwards: %v, error %v, woken: %v", result, err, now)
		}
	})
}

func of(nc *karpv1.NodeClaim) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(nc)}
}
