package gitops

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nothing is a cluster without nodes and pods.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestEmptySource: the guard compares it with the objects in the cluster. A
// status may have been lost with a backup, and may list objects that are gone.
func TestEmptySource(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const idA, idB = "_a_karpenter.sh_NodePool", "_b_karpenter.sh_NodePool"
	tests := []struct {
		name    string
		live    []string
		deleted bool
		status  []string // the inventory before, by ids
		reason  string
		want    []string // the inventory after
	}{
		{name: "all would be deleted", live: []string{"a"}, status: []string{idA},
			reason: lkeplanv1alpha1.ReasonGuarded, want: []string{idA}},
		{name: "all would be deleted, and the status is lost", live: []string{"a"}, reason: lkeplanv1alpha1.ReasonGuarded},
		{name: "all are being deleted, as was approved", live: []string{"a", "b"}, deleted: true, status: []string{idA, idB},
			reason: lkeplanv1alpha1.ReasonSucceeded, want: []string{idA, idB}},
		{name: "all are gone, as was approved", status: []string{idA}, reason: lkeplanv1alpha1.ReasonSucceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			np := nodePlan("ns", "fleet")
			for _, id := range tt.status {
				np.Status.Inventory = append(np.Status.Inventory, lkeplanv1alpha1.InventoryEntry{ID: id, UID: "uid of " + strings.Split(id, "_")[1]})
			}
			cluster := &pooled{names: tt.live, deleted: tt.deleted, label: nodeplan.InventoryLabel(np)}
			source := scripted{result: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Cluster: config.Cluster{Name: "dev"}}}}}
			source.result.Guards.MaxDeletedPools = 1
			w := &Worker{
				Sources: source, Compiler: source, Cluster: "dev", Now: time.Now,
				Records: none{}, Cache: nothing{}, Reader: nodePlansOf(np), Prices: func() *catalog.Catalog { return prices },
				Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
				Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return cluster, nil },
			}
			if o := w.Work(t.Context(), np, recordNothing); o.reason != tt.reason {
				t.Errorf("%s: %s, want %s", o.reason, o.message, tt.reason)
			}
			var got []string
			for _, e := range np.Status.Inventory {
				got = append(got, e.ID)
			}
			if len(cluster.ends) > 0 || !slices.Equal(got, tt.want) {
				t.Errorf("deleted or orphaned: %v; inventory %v, want %v", cluster.ends, got, tt.want)
			}
		})
	}
}
