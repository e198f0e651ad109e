package compare

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// counted has objects by kind, and counts how often each kind is listed.
type counted struct {
	objects map[string]map[string]any

	mu    sync.Mutex
	lists map[string]int
}

func (c *counted) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[kind]++
	if c.objects[kind] == nil {
		return nil, nil
	}
	return []map[string]any{runtime.DeepCopyJSON(c.objects[kind])}, nil
}

func TestIgnoredDriftStaysAndIsReadOnce(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	validator := kube.BuiltinValidator()
	head := compiled(t, `
node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  weight       = 10
}
`)
	cluster := &counted{objects: map[string]map[string]any{}, lists: map[string]int{}}
	for _, o := range head.Objects {
		if cluster.objects[o.Kind()], _, err = validator.Predict(nil, head.Labelled(o.Manifest)); err != nil {
			t.Fatal(err)
		}
	}
	setByHand(cluster.objects["NodePool"], "weight", int64(20))

	opts := LiveOptions{Base: head, Prices: prices, Ignore: func(d plan.Drift) bool { return d.Path == "spec.weight" }}
	found, err := Live(t.Context(), head, LiveView(cluster), opts)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Plan.Empty() || len(found.Plan.Drift) != 1 || !found.Plan.Drift[0].Kept {
		t.Errorf("changes %+v and drift %+v, want none and one that is kept", found.Plan.Changes, found.Plan.Drift)
	}
	declared := func(obj map[string]any) bool {
		_, found := manifest.Lookup(obj, "spec", "weight")
		return found
	}
	for i, target := range found.Targets {
		if declared(target.Desired) {
			t.Errorf("%s would be applied with its weight", manifest.KeyOf(target.Desired))
		}
		if o := head.Objects[i]; declared(o.Manifest) != (o.Kind() == "NodePool") {
			t.Errorf("the configuration of %s has been changed", o.Key())
		}
	}
	for kind, n := range cluster.lists {
		if n != 1 {
			t.Errorf("%s was listed %d times, want once", kind, n)
		}
	}
}

// setByHand sets a field of an object's spec as kubectl edit does.
func setByHand(obj map[string]any, field string, value any) {
	manifest.Map(obj, "spec")[field] = value
	entries := manifest.Map(obj, "metadata")["managedFields"].([]any)
	delete(manifest.Map(entries[0].(map[string]any), "fieldsV1", "f:spec"), "f:"+field)
	byHand := map[string]any{
		"manager": "kubectl-edit", "operation": "Update", "apiVersion": manifest.APIVersion(obj), "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + field: map[string]any{}}},
	}
	manifest.Map(obj, "metadata")["managedFields"] = append(entries, byHand)
}
