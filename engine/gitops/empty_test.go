package gitops

import (
	"context"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nothing is a cluster without nodes and pods.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestAnEmptySource: what is in force is what the cluster has. A status may have
// been lost with a backup, and may have what is gone since.
func TestAnEmptySource(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		there   []string
		leaving bool
		status  []lkeplanv1alpha1.InventoryEntry // before
		reason  string
		tracks  []string
	}{
		{name: "all would go", there: []string{"a"}, status: []lkeplanv1alpha1.InventoryEntry{{ID: "_a_karpenter.sh_NodePool"}}, reason: lkeplanv1alpha1.ReasonGuarded, tracks: []string{"_a_karpenter.sh_NodePool"}},
		{name: "all would go, and the status is lost", there: []string{"a"}, reason: lkeplanv1alpha1.ReasonGuarded},
		{name: "all is going, as was approved", there: []string{"a", "b"}, leaving: true, reason: lkeplanv1alpha1.ReasonSucceeded, tracks: []string{"_a_karpenter.sh_NodePool", "_b_karpenter.sh_NodePool"}},
		{name: "all is gone, as was approved", status: []lkeplanv1alpha1.InventoryEntry{{ID: "_a_karpenter.sh_NodePool"}}, reason: lkeplanv1alpha1.ReasonSucceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			np := nodePlan("ns", "fleet")
			np.Status.Inventory = tt.status
			cluster := &pooled{names: tt.there, leaving: tt.leaving, mark: inventoryLabel(np)}
			source := tried{result: compile.Answer{Result: compile.Result{Cluster: config.Cluster{Name: "dev"}}}}
			source.result.Guards.MaxDeletedPools = 1
			w := &Worker{
				Sources: source, Compiler: source, Cluster: "dev", Scratch: t.TempDir(), Rivals: NewRivals(nil), Now: time.Now, Records: none{}, Cache: nothing{}, Prices: prices,
				Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
				Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return cluster, nil },
			}
			if o := w.Work(t.Context(), np); o.reason != tt.reason {
				t.Errorf("%s: %s, want %s", o.reason, o.message, tt.reason)
			}
			var tracks []string
			for _, e := range np.Status.Inventory {
				tracks = append(tracks, e.ID)
			}
			if len(cluster.ends) > 0 || !slices.Equal(tracks, tt.tracks) {
				t.Errorf("it did %v, and tracks %v, want %v", cluster.ends, tracks, tt.tracks)
			}
		})
	}
}
