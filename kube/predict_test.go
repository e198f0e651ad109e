package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestPredictionsHaveDefaultsAndConflicts: fields of other owners stay. Fields that an apply would
// set to another value are conflicts, and have the value of a forced apply.
func TestPredictionsHaveDefaultsAndConflicts(t *testing.T) {
	v := validator(t)
	desired := object(t, pool+"  weight: 10\n")
	made, conflicts, err := v.Predict(nil, desired)
	if err != nil || len(conflicts) > 0 || manifest.Text(made, "spec", "template", "spec", "expireAfter") != "720h" {
		t.Fatalf("%v, %v, %v", made, conflicts, err)
	}
	if !kube.Applied(made) {
		t.Error("the object does not count as applied")
	}
	older := runtime.DeepCopyJSON(made) // from a release whose CRD did not have this default
	delete(manifest.Ensure(older, "spec", "template", "spec"), "expireAfter")
	if now, _, err := v.Predict(older, desired); err != nil || !kube.Same(made, now) {
		t.Errorf("%v, and without a change (-want +got):\n%s", err, cmp.Diff(made, now))
	}
	edited := runtime.DeepCopyJSON(made)
	manifest.Ensure(edited, "spec")["weight"] = int64(50)
	manifest.Ensure(edited, "spec", "limits")["cpu"] = "100"
	manifest.Ensure(edited, "metadata")["managedFields"] = []any{map[string]any{
		"manager": "jane", "operation": "Update", "apiVersion": "karpenter.sh/v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{
			"f:weight": map[string]any{}, "f:limits": map[string]any{"f:cpu": map[string]any{}},
		}},
	}}
	forced, conflicts, err := v.Predict(edited, desired)
	if diff := cmp.Diff([]manifest.Conflict{{Path: "spec.weight", Owner: "jane"}}, conflicts); diff != "" || err != nil {
		t.Errorf("%v, conflicts (-want +got):\n%s", err, diff)
	}
	weight, _ := manifest.Lookup(forced, "spec", "weight")
	cpu := manifest.Text(forced, "spec", "limits", "cpu")
	if weight != int64(10) || cpu != "100" {
		t.Errorf("the weight is %v, and the limit %q", weight, cpu)
	}
	again, conflicts, err := v.Predict(made, desired)
	manifest.Ensure(again, "status")["nodes"] = int64(3)
	if err != nil || len(conflicts) > 0 || !kube.Same(made, again) || kube.Same(made, forced) {
		t.Errorf("an apply that changes nothing: %v, %v, %v", err, conflicts, cmp.Diff(made, again))
	}
}
