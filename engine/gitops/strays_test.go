package gitops

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// copyOf is a pool under another name, as kubectl get -o yaml | sed | kubectl apply makes
// it: with the label, and even with the field managers.
func (w *world) copyOf(pool, name string) {
	obj := runtime.DeepCopyJSON(w.objects[manifest.Key{Kind: "NodePool", Name: pool}])
	metadata := manifest.Ensure(obj, "metadata")
	metadata["name"] = name
	delete(metadata, "uid")
	w.put(obj)
}

// TestCopyOfPoolIsNotPruned, and is reported, once.
func TestCopyOfPoolIsNotPruned(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	w.commit(map[string]string{"a": pools("a", "general", "web")})
	w.reconcile(np)
	w.copyOf("general", "general-copy")
	before := np.DeepCopy()
	o := w.reconcile(np)
	if o.reason != lkeplanv1alpha1.ReasonSucceeded || !o.emitEvent || !strings.Contains(o.message, "NodePool general-copy is kept") ||
		!strings.Contains(o.event, "NodePool general-copy is kept") {
		t.Errorf("news: %v; %s: %s", o.emitEvent, o.reason, o.message)
	}
	if o := w.reconcile(np); o.emitEvent {
		t.Errorf("it is reported again: %s", o.message)
	}
	for _, commit := range []string{pools("a", "general"), pools("a"), pools("a", "general"),
		pools("a", "general") + "\nremoved {\n  from   = pool.general-copy\n  delete = true\n}\n"} {
		w.commit(map[string]string{"a": commit})
		w.reconcile(np)
	}
	if slices.Contains(w.deleted, "general-copy") || !slices.Contains(w.deleted, "web") {
		t.Errorf("deleted: %v", w.deleted)
	}
	if len(before.Status.Inventory) != 3 || len(np.Status.Inventory) != 2 {
		t.Errorf("inventory %v, and later %v", before.Status.Inventory, np.Status.Inventory)
	}
}

// TestOnlyAppliedObjectsArePruned, also from a cache that lags, and after the controller was killed between an apply and its status.
func TestOnlyAppliedObjectsArePruned(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *world, np *lkeplanv1alpha1.NodePlan)
		pruned bool
	}{
		{"as it is", func(*world, *lkeplanv1alpha1.NodePlan) {}, true},
		{"an inventory without UIDs", func(_ *world, np *lkeplanv1alpha1.NodePlan) {
			for i := range np.Status.Inventory {
				np.Status.Inventory[i].UID = ""
			}
		}, false},
		{"a cache that lags", func(w *world, np *lkeplanv1alpha1.NodePlan) {
			now := np.DeepCopy()
			w.worker.Reader = nodePlansOf(now)
			np.Status.Inventory = nil
		}, true},
		{"a status that is lost", func(_ *world, np *lkeplanv1alpha1.NodePlan) { np.Status.Inventory = nil }, false},
		{"another object of that name", func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			w.copyOf("web", "web")
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			np := w.plan("fleet", "a", "fleet")
			w.commit(map[string]string{"a": pools("a", "general", "web")})
			w.reconcile(np)
			tt.change(w, np)
			w.commit(map[string]string{"a": pools("a", "general")})
			o := w.reconcile(np)
			if pruned := slices.Contains(w.deleted, "web"); pruned != tt.pruned || pruned == strings.Contains(o.message, "web is kept") {
				t.Errorf("deleted: %v; %s: %s", w.deleted, o.reason, o.message)
			}
		})
	}
}

// TestDrainingPoolWithoutItsLabelIsNotForgotten: the UID in the inventory names it, and the label is put back.
func TestDrainingPoolWithoutItsLabelIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	w.commit(map[string]string{"a": pools("a", "general", "web")})
	w.reconcile(np)
	web := manifest.Key{Kind: "NodePool", Name: "web"}
	w.claims = []karpv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}}}
	w.commit(map[string]string{"a": pools("a", "general")})
	w.reconcile(np)
	if _, draining := plan.ReadRemoval(w.objects[web]); !draining {
		t.Fatalf("it does not drain: %v", w.objects[web])
	}
	edited := runtime.DeepCopyJSON(w.objects[web])
	delete(manifest.Ensure(edited, "metadata", "labels"), kube.InventoryLabel)
	for _, entry := range manifest.Map(edited, "metadata")["managedFields"].([]any) { // as kubectl label does
		delete(manifest.Map(entry.(map[string]any), "fieldsV1", "f:metadata", "f:labels"), "f:"+kube.InventoryLabel)
	}
	w.objects[web] = edited
	for range 2 {
		o := w.reconcile(np)
		listed := slices.ContainsFunc(np.Status.Inventory, func(e lkeplanv1alpha1.InventoryEntry) bool { return strings.HasPrefix(e.ID, "_web_") })
		if label := manifest.Label(w.objects[web], kube.InventoryLabel); label != "nodeplan.fleet.a" || !listed {
			t.Errorf("the label is %q, and the inventory %v; %s: %s", label, np.Status.Inventory, o.reason, o.message)
		}
	}
	w.claims = nil
	if w.reconcile(np); w.objects[web] != nil {
		t.Error("it stays after its last node")
	}
}

// TestInterruptedApplyContinues: objects that it created still belong to the NodePlan.
func TestInterruptedApplyContinues(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	w.commit(map[string]string{"a": pools("a", "general", "web")})
	w.reconcile(np)
	delete(w.objects, manifest.Key{Kind: "NodePool", Name: "web"})
	np.Status = lkeplanv1alpha1.NodePlanStatus{}
	clear(w.records)
	if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded || len(np.Status.Inventory) != 3 {
		t.Errorf("%s: %s; inventory %v", o.reason, o.message, np.Status.Inventory)
	}
}

// TestEqualValuesDoNotMeanOwnership: a pool that others have made is taken over only where an
// import block names it, and is not pruned before that.
func TestEqualValuesDoNotMeanOwnership(t *testing.T) {
	tests := []struct {
		name     string
		manager  string
		labels   map[string]any
		imported bool
		says     string // "": it is adopted
	}{
		{name: "Helm's", manager: "helm", labels: map[string]any{"app.kubernetes.io/managed-by": "Helm"}, says: "was created by Helm"},
		{name: "Flux's", manager: "kustomize-controller", says: "was created by Flux"},
		{name: "a person's", manager: "kubectl-client-side-apply", says: "was created by kubectl"},
		{name: "a person's, with the label", manager: "kubectl-create", says: "was created by kubectl",
			labels: map[string]any{kube.InventoryLabel: "nodeplan.fleet.a"}},
		{name: "Helm's, which may be taken over", manager: "helm", imported: true},
		{name: "what lkeplan apply has made", manager: kube.FieldManager, labels: map[string]any{kube.InventoryLabel: "dev"}},
		{name: "released by another NodePlan", manager: kube.FieldManager},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			np := w.plan("fleet", "a", "fleet")
			w.commit(map[string]string{"a": pools("a", "general")})
			w.reconcile(np)
			key := manifest.Key{Kind: "NodePool", Name: "general"}
			theirs := runtime.DeepCopyJSON(w.objects[key])
			metadata := manifest.Ensure(theirs, "metadata")
			metadata["labels"] = tt.labels
			for _, entry := range metadata["managedFields"].([]any) {
				entry.(map[string]any)["manager"] = tt.manager
				delete(manifest.Map(entry.(map[string]any), "fieldsV1"), "f:metadata")
			}
			w.objects = map[manifest.Key]map[string]any{key: theirs}
			np.Status = lkeplanv1alpha1.NodePlanStatus{}
			clear(w.records)
			text := pools("a", "general")
			if tt.imported {
				text += "\nimport {\n  to = pool.general\n  id = \"general\"\n}\n"
			}
			w.commit(map[string]string{"a": text})
			o := w.reconcile(np)
			adopted := o.reason == lkeplanv1alpha1.ReasonSucceeded
			if adopted != (tt.says == "") || !strings.Contains(o.message, tt.says) {
				t.Errorf("%s: %s", o.reason, o.message)
			}
			w.commit(map[string]string{"a": pools("a")})
			if w.reconcile(np); slices.Contains(w.deleted, "general") != adopted {
				t.Errorf("adopted: %v; deleted: %v", adopted, w.deleted)
			}
		})
	}
}
