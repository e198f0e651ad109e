package fleet

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
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
	waits, has := claim("waits", nodeclaim.PendingID("1")), claim("has", nodeclaim.LinodeID(10))
	tests := map[string]struct {
		claims []client.Object
		now    bool
	}{
		"it is the only one":                {[]client.Object{waits}, true},
		"the others have plans or machines": {[]client.Object{waits, has}, true},
		"the others ask for nothing of us":  {[]client.Object{waits, leaving, foreign}, true},
		"another has no plan yet":           {[]client.Object{waits, claim("new", "")}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fleet := New(Config{Cluster: lkeapi.Cluster{ID: 77}})
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tt.claims...).Build()
			if _, err := NewTrigger(c, fleet).Reconcile(t.Context(), ctrl.Request{}); err != nil {
				t.Fatal(err)
			}
			if now, soon := len(fleet.now) > 0, len(fleet.wake) > 0; now != tt.now || soon == tt.now {
				t.Errorf("woken now: %v, soon: %v; want now: %v", now, soon, tt.now)
			}
		})
	}
}
