package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/kube"
)

// wishes are specs of a NodePool that managers may apply.
func wishes() map[string]map[string]any {
	spec := func(change func(spec, template map[string]any)) map[string]any {
		template := map[string]any{
			"requirements": []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}},
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
		}
		spec := map[string]any{"template": map[string]any{"spec": template}}
		change(spec, template)
		return spec
	}
	taint := func(key string) map[string]any { return map[string]any{"key": key, "effect": "NoSchedule"} }
	return map[string]map[string]any{
		"plain":        spec(func(_, _ map[string]any) {}),
		"weight":       spec(func(s, _ map[string]any) { s["weight"] = int64(10) }),
		"other weight": spec(func(s, _ map[string]any) { s["weight"] = int64(20) }),
		"limits":       spec(func(s, _ map[string]any) { s["limits"] = map[string]any{"cpu": "100"} }),
		"more limits":  spec(func(s, _ map[string]any) { s["limits"] = map[string]any{"cpu": "200", "memory": "1Gi"} }),
		"expiry":       spec(func(_, t map[string]any) { t["expireAfter"] = "336h" }),
		"taints":       spec(func(_, t map[string]any) { t["taints"] = []any{taint("a"), taint("b")} }),
		"other taints": spec(func(_, t map[string]any) { t["taints"] = []any{taint("b")} }),
		"disruption": spec(func(s, _ map[string]any) {
			s["disruption"] = map[string]any{"consolidateAfter": "5m", "budgets": []any{map[string]any{"nodes": "20%"}}}
		}),
		"labels": spec(func(s, _ map[string]any) {
			s["template"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"example.com/a": "1"}}
		}),
	}
}

// TestPredictedApplyIsTheServersApply: for each pair of wishes, one is applied by us
// or another manager, or patched, and the apply of the other is predicted. The object
// and the conflicts are those of the API server's dry run.
func TestPredictedApplyIsTheServersApply(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	validator := kube.BuiltinValidator()
	all := wishes()
	cases := 0
	for _, histories := range []struct {
		name  string
		write func(pool *unstructured.Unstructured) error
	}{
		{"applied by us", func(p *unstructured.Unstructured) error { return s.apply(p, kube.FieldManager) }},
		{"applied by ana", func(p *unstructured.Unstructured) error { return s.apply(p, "ana") }},
		{"applied by us and edited", func(p *unstructured.Unstructured) error {
			if err := s.apply(p, kube.FieldManager); err != nil {
				return err
			}
			edit := []byte(`{"spec":{"weight":50,"limits":{"cpu":"7"},"template":{"spec":{"expireAfter":"48h"}}}}`)
			return s.client.Patch(context.Background(), p, client.RawPatch("application/merge-patch+json", edit),
				client.FieldOwner("kubectl-edit"))
		}},
	} {
		for before := range maps.Keys(all) {
			name := fmt.Sprintf("pool-%d", cases)
			if err := histories.write(named(name, all[before])); err != nil {
				t.Fatalf("%s, %s: %v", histories.name, before, err)
			}
			live := named(name, nil)
			if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
				t.Fatal(err)
			}
			for after := range maps.Keys(all) {
				cases++
				s.compare(validator, live, named(name, all[after]), histories.name+": "+before+" → "+after)
			}
		}
	}
	t.Logf("%d cases", cases)
}

func named(name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"})
	u.SetName(name)
	if spec != nil {
		u.Object["spec"] = runtime.DeepCopyJSON(spec)
	}
	return u
}

func (s *sandbox) apply(u *unstructured.Unstructured, manager string, opts ...client.ApplyOption) error {
	return s.client.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u),
		append(opts, client.FieldOwner(manager))...)
}

// compare asks the API server for a dry run and compares.
func (s *sandbox) compare(validator *kube.Validator, live, wish *unstructured.Unstructured, what string) {
	s.t.Helper()
	predicted, conflicts, err := validator.Predict(live.Object, wish.Object)
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	served := wish.DeepCopy()
	err = s.apply(served, kube.FieldManager, client.DryRunAll)
	var refused []string
	if apierrors.IsConflict(err) {
		for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
			refused = append(refused, cause.Field)
		}
		served = wish.DeepCopy()
		err = s.apply(served, kube.FieldManager, client.DryRunAll, client.ForceOwnership)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	var expected []string
	for _, c := range conflicts {
		expected = append(expected, "."+c.Path)
		if c.Owner != "ana" && c.Owner != "kubectl-edit" {
			s.t.Errorf("%s: %s is said to be owned by %q", what, c.Path, c.Owner)
		}
	}
	if diff := cmp.Diff(refused, expected); diff != "" {
		s.t.Errorf("%s: conflicts (-server +predicted):\n%s", what, diff)
	}
	if diff := cmp.Diff(served.Object["spec"], predicted["spec"]); diff != "" {
		s.t.Errorf("%s: spec (-server +predicted):\n%s", what, diff)
	}
}
