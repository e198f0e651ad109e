package lke

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestAMachineIsGoneOnlyWhereLKEShowsIt: Karpenter ends NodeClaims by what List
// leaves out, and drops the finalizer of a draining one by what Get says. Of the pools
// that hide slots only the machine's own counts.
func TestAMachineIsGoneOnlyWhereLKEShowsIt(t *testing.T) {
	ours := func(count int, slots ...api.Slot) api.Pool {
		return api.Pool{ID: 1, Type: "g6-standard-4", Count: count, Linodes: slots}
	}
	foreign := api.Pool{ID: 2, Type: "g6-standard-4", Count: 1}
	a, b := api.Slot{ID: "1-a", InstanceID: 10}, api.Slot{ID: "1-b"}
	tests := []struct {
		name   string
		shown  shown
		node   string // of Linode 10
		listed int    // machines; -1 where List fails
		get    string // of Linode 10
		host   string // maintenance of its host, from that long before now
	}{
		{"it is there", shown{pools: []api.Pool{ours(2, a, b)}}, "lke77-1-a", 1, "there", ""},
		{"it is gone", shown{pools: []api.Pool{ours(1, b)}}, "lke77-1-a", 0, "gone", ""},
		{"LKE does not list all nodes of its pool", shown{pools: []api.Pool{ours(2, b)}}, "lke77-1-a", 1, "unknown", ""},
		{
			"a foreign pool does not list all nodes", shown{pools: []api.Pool{ours(1, b), foreign}}, "lke77-1-a", 0, "gone", "",
		},
		{"its pool is gone, a foreign one hides", shown{pools: []api.Pool{foreign}}, "lke77-1-a", 0, "gone", ""},
		{"its pool is not known", shown{pools: []api.Pool{ours(1, b), foreign}}, "", 1, "unknown", ""},
		{"a name of another kind", shown{pools: []api.Pool{ours(1, b), foreign}}, "worker-1", 1, "unknown", ""},
		{"LKE does not answer", shown{err: errors.New("no answer")}, "lke77-1-a", -1, "unknown", ""},
		{
			"LKE does not answer any more", shown{err: errors.New("no answer"), last: []api.Pool{ours(2, a, b)}},
			"lke77-1-a", -1, "there", "",
		},
		{
			"LKE does not answer any more, and did not show it", shown{err: errors.New("no"), last: []api.Pool{ours(1, b)}},
			"lke77-1-a", -1, "unknown", "",
		},
		{"its host is maintained", shown{pools: []api.Pool{ours(1, api.Slot{ID: "1-a"})}}, "lke77-1-a", 1, "unknown", "1h"},
		{"its host is maintained for long", shown{pools: []api.Pool{ours(1, api.Slot{ID: "1-a"})}}, "lke77-1-a", 0, "gone", "5h"},
		{"its host will be maintained", shown{pools: []api.Pool{ours(1, api.Slot{ID: "1-a"})}}, "lke77-1-a", 0, "gone", "-1h"},
		{"its slot has another machine", shown{pools: []api.Pool{ours(1, api.Slot{ID: "1-a", InstanceID: 11})}}, "lke77-1-a", 1, "gone", "1h"},
		{"its slot is gone", shown{pools: []api.Pool{ours(1, b)}}, "lke77-1-a", 0, "gone", "1h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc := linodetest.NodeClaim("1")
			nc.Status.ProviderID, nc.Status.NodeName = nodeclaim.LinodeID(10), tt.node
			if tt.host != "" {
				ago, _ := time.ParseDuration(tt.host)
				start := time.Now().Add(-ago).UTC().Format(time.RFC3339)
				metav1.SetMetaDataAnnotation(&nc.ObjectMeta, maintenance.Annotation, `{"start": "`+start+`", "type": "migrate"}`)
			}
			objects := []client.Object{nc}
			if tt.node != "" {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tt.node}}
				node.Spec.ProviderID = nc.Status.ProviderID
				objects = append(objects, node)
			}
			p := provider(t, catalog.Standard, &tt.shown, objects...)
			machines, err := p.List(t.Context())
			if listed := len(machines); (err != nil) != (tt.listed < 0) || err == nil && listed != tt.listed {
				t.Errorf("List = %d machines, %v; want %d", listed, err, tt.listed)
			}
			found, err := p.Get(t.Context(), nodeclaim.LinodeID(10))
			got := "unknown"
			switch {
			case err == nil && found.Status.ProviderID == nodeclaim.LinodeID(10):
				got = "there"
			case cloudprovider.IsNodeClaimNotFoundError(err):
				got = "gone"
			}
			if got != tt.get {
				t.Errorf("Get says %s: %v; want %s", got, err, tt.get)
			}
		})
	}
}

// TestUnknownIDHasNoMachine: Karpenter asks until it hears so, and
// LKE will never show a machine of that name, nor that it is gone.
func TestUnknownIDHasNoMachine(t *testing.T) {
	for id, want := range map[string]bool{
		"Provider:///AZ/i-01234": true, "linode://i-01234": true, nodeclaim.LinodeID(10): false,
		nodeclaim.PendingID("8f1c"): false,
	} {
		nc := linodetest.NodeClaim("1")
		nc.Status.ProviderID = id
		err := provider(t, catalog.Standard, &shown{}).Delete(t.Context(), nc)
		if cloudprovider.IsNodeClaimNotFoundError(err) != want || !want && err != nil {
			t.Errorf("Delete of %s = %v, want not found: %v", id, err, want)
		}
	}
}
