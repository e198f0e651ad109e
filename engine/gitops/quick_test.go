package gitops

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestUnchangedRevisionIsNotCompiledAgain: what is in order is neither fetched nor compiled nor written.
func TestUnchangedRevisionIsNotCompiledAgain(t *testing.T) {
	general := manifest.Key{Kind: "NodePool", Name: "general"}
	type work struct{ fetched, compiled, written int }
	tests := []struct {
		name   string
		change func(w *world, np *lkeplanv1alpha1.NodePlan)
		want   work
	}{
		{"nothing has changed", func(*world, *lkeplanv1alpha1.NodePlan) {}, work{}},
		{"another commit", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			w.commit(map[string]string{"a": pools("a", "general", "web", "db")})
		}, work{1, 2, 1}},
		{"another spec", func(_ *world, np *lkeplanv1alpha1.NodePlan) { np.Generation++ }, work{1, 1, 0}},
		{"another value of a variable", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			w.worker.Vars = func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
				return Variables{Vars: []config.Var{{Name: "a", Value: "2"}}}, nil
			}
		}, work{1, 2, 0}},
		{"a pool was edited", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			edited := runtime.DeepCopyJSON(w.objects[general])
			manifest.Ensure(edited, "spec", "template", "spec", "nodeClassRef")["name"] = "other"
			w.objects[general] = edited
		}, work{1, 1, 1}},
		{"the label of a pool was removed", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			edited := runtime.DeepCopyJSON(w.objects[general])
			delete(manifest.Ensure(edited, "metadata", "labels"), kube.InventoryLabel)
			w.objects[general] = edited
		}, work{1, 1, 1}},
		{"the label of a pool was removed, and a field was edited", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			edited := runtime.DeepCopyJSON(w.objects[general])
			delete(manifest.Ensure(edited, "metadata", "labels"), kube.InventoryLabel)
			manifest.Ensure(edited, "spec", "template", "spec", "nodeClassRef")["name"] = "other"
			w.objects[general] = edited
		}, work{1, 1, 1}},
		{"a pool was deleted", func(w *world, _ *lkeplanv1alpha1.NodePlan) { delete(w.objects, general) },
			work{1, 1, 1}},
		{"the record is lost", func(w *world, _ *lkeplanv1alpha1.NodePlan) { clear(w.records) }, work{1, 1, 0}},
		{"another leader", func(w *world, _ *lkeplanv1alpha1.NodePlan) { w.worker.Memory = &appliedMemory{} },
			work{1, 1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.worker.Memory = &appliedMemory{}
			np := w.plan("fleet", "a", "fleet")
			w.commit(map[string]string{"a": pools("a", "general", "web")})
			w.reconcile(np)
			tt.change(w, np)
			inventory := len(np.Status.Inventory)
			w.fetched, w.compiled, w.written = 0, 0, 0
			o := w.reconcile(np)
			if got := (work{w.fetched, w.compiled, w.written}); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if o.reason != lkeplanv1alpha1.ReasonSucceeded || !strings.HasPrefix(o.message, "Applied revision: main@sha1:") ||
				len(np.Status.Inventory) < inventory {
				t.Errorf("%s: %s; inventory %v", o.reason, o.message, np.Status.Inventory)
			}
		})
	}
}
