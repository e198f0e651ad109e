package linode

import (
	"errors"
	"testing"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestAMachineIsGoneOnlyWhereLKEShowsIt: Karpenter ends NodeClaims by what List
// leaves out, and drops the finalizer of a draining one by what Get says.
func TestAMachineIsGoneOnlyWhereLKEShowsIt(t *testing.T) {
	slots := []lkeapi.Slot{{ID: "1-a", InstanceID: 10}, {ID: "1-b"}}
	tests := []struct {
		name   string
		shown  shown
		listed int    // machines; -1 where List fails
		get    string // of Linode 10
	}{
		{"it is there", shown{pools: []lkeapi.Pool{{ID: 1, Type: "g6-standard-4", Count: 2, Linodes: slots}}}, 1, "there"},
		{"it is gone", shown{pools: []lkeapi.Pool{{ID: 1, Type: "g6-standard-4", Count: 1, Linodes: slots[1:]}}}, 0, "gone"},
		{"LKE does not list all nodes", shown{pools: []lkeapi.Pool{{ID: 1, Count: 2, Linodes: slots[1:]}}}, -1, "unknown"},
		{"LKE does not answer", shown{err: errors.New("no answer")}, -1, "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := provider(t)
			p.machines = &tt.shown
			machines, err := p.List(t.Context())
			if listed := len(machines); (err != nil) != (tt.listed < 0) || err == nil && listed != tt.listed {
				t.Errorf("List = %d machines, %v; want %d", listed, err, tt.listed)
			}
			nc, err := p.Get(t.Context(), nodeclaim.LinodeID(10))
			got := "unknown"
			switch {
			case err == nil && nc.Status.ProviderID == nodeclaim.LinodeID(10):
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

// TestAnIDThatNamesNoLinodeHasNoMachine: Karpenter asks until it hears so, and
// LKE will never show a machine of that name, nor that it is gone.
func TestAnIDThatNamesNoLinodeHasNoMachine(t *testing.T) {
	for id, want := range map[string]bool{
		"Provider:///AZ/i-01234": true, "linode://i-01234": true, nodeclaim.LinodeID(10): false,
		nodeclaim.PendingID("8f1c"): false,
	} {
		nc := nodeClaim("1")
		nc.Status.ProviderID = id
		err := provider(t).Delete(t.Context(), nc)
		if cloudprovider.IsNodeClaimNotFoundError(err) != want || !want && err != nil {
			t.Errorf("Delete of %s = %v, want not found: %v", id, err, want)
		}
	}
}
