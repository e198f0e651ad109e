package kube_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/kube"
)

func validator(t testing.TB) *kube.Validator {
	t.Helper()
	return kube.BuiltinValidator()
}

// object reads YAML as the API server does, whole numbers as int64.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{}
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`

func TestValidateDefaults(t *testing.T) {
	obj := object(t, pool)
	defaulted, errs := validator(t).Validate(obj, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := object(t, pool+`
      expireAfter: 720h
  disruption:
    budgets: [{nodes: 10%}]
    consolidateAfter: 0s
    consolidationPolicy: WhenEmptyOrUnderutilized
`)
	if diff := cmp.Diff(want, defaulted); diff != "" {
		t.Errorf("defaulted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object(t, pool), obj); diff != "" {
		t.Errorf("the object was changed:\n%s", diff)
	}
}

// TestValidate has an object for each kind of error.
func TestValidate(t *testing.T) {
	v := validator(t)
	tests := []struct{ name, obj, want string }{
		{"unknown kind", "apiVersion: v1\nkind: Pod", `kind: Unsupported value: "v1 Pod"`},
		{"other version", strings.Replace(pool, "karpenter.sh/v1", "karpenter.sh/v2", 1),
			`kind: Unsupported value: "karpenter.sh/v2 NodePool"`},
		{"name missing", strings.Replace(pool, "name: web", "labels: {}", 1), "metadata.name: Required value"},
		{"name", strings.Replace(pool, "name: web", "name: Web", 1), `metadata.name: Invalid value: "Web"`},
		{"label of the object", strings.Replace(pool, "name: web", `name: web, labels: {"a b": c}`, 1),
			"metadata.labels: Invalid value"},
		{"metadata of a wrong type", strings.Replace(pool, "name: web", `name: web, labels: 5`, 1),
			"metadata: Invalid value"},
		{"unknown field", pool + "  wieght: 1\n", "spec.wieght: Forbidden: there is no such field"},
		{"unknown field in a list", strings.Replace(pool, "operator: In", "operator: In, x: 1", 1),
			"spec.template.spec.requirements[0].x: Forbidden"},
		{"required", strings.Replace(pool, ", name: default", "", 1), "spec.template.spec.nodeClassRef.name: Required value"},
		{"type", pool + "  weight: heavy\n", "spec.weight: Invalid value"},
		{"maximum", pool + "  weight: 101\n", "spec.weight: Invalid value: 101"},
		{"pattern", pool + "      expireAfter: 30d\n", "spec.template.spec.expireAfter: Invalid value"},
		{"enumeration", pool + "      taints: [{key: a, effect: Never}]\n",
			"spec.template.spec.taints[0].effect: Unsupported value"},
		{"set", pool + "  disruption: {consolidateAfter: 1m, budgets: [{nodes: '1', reasons: [Empty, Empty]}]}\n",
			"spec.disruption.budgets[0].reasons[1]: Duplicate value"},
		{"rule", pool + "  replicas: 1\n  weight: 1\n", "'weight' is not supported on static NodePools"},
		{"rule about an element", strings.Replace(pool, "capacity-type", "initialized", 1),
			`label domain "karpenter.sh" is restricted`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := v.Validate(object(t, tt.obj), nil)
			if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), tt.want) {
				t.Errorf("got %v, want %q", errs, tt.want)
			}
		})
	}
}

// TestValidateUpdate checks transition rules, and that a value that was invalid
// before is accepted if it does not change.
func TestValidateUpdate(t *testing.T) {
	v := validator(t)
	static := object(t, pool+"  replicas: 1\n")
	if _, errs := v.Validate(object(t, pool), static); len(errs) == 0 {
		t.Error("a static pool was changed to a dynamic pool without an error")
	}
	if _, errs := v.Validate(static, static); len(errs) > 0 {
		t.Errorf("no change: %v", errs)
	}
	invalid := object(t, pool+"  weight: 101\n")
	touched := object(t, pool+"  weight: 101\n  limits: {cpu: 1}\n")
	if _, errs := v.Validate(touched, invalid); len(errs) > 0 {
		t.Errorf("an old error is reported: %v", errs)
	}
}

func TestValidateTogether(t *testing.T) {
	v := validator(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, errs := v.Validate(object(t, pool), nil); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
	wg.Wait()
}

// TestKinds has the list of kinds that can be validated: those that lkeplan
// compiles to and those that it reads.
func TestKinds(t *testing.T) {
	want := []string{
		"autoscaling.x-k8s.io/v1beta1 CapacityBuffer",
		"karpenter.k8s.linode/v1 LinodeNodeClass",
		"karpenter.k8s.linode/v1alpha1 LinodeNodeClass",
		"karpenter.sh/v1 NodeClaim",
		"karpenter.sh/v1 NodePool",
		"karpenter.sh/v1alpha1 NodeOverlay",
		"lkeplan.dev/v1alpha1 CapacityLimit", "lkeplan.dev/v1alpha1 DisruptionStop", "lkeplan.dev/v1alpha1 NodePlan",
		"lkeplan.dev/v1alpha1 NodePlanRecord",
	}
	if diff := cmp.Diff(want, validator(t).Kinds()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, kind := range want {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		if _, err := validator(t).Defaulted(map[string]any{"apiVersion": apiVersion, "kind": kind}); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	v, obj := validator(b), object(b, pool)
	v.Validate(obj, nil) // compiles the rules
	for b.Loop() {
		if _, errs := v.Validate(obj, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// BenchmarkCompile measures the compilation that the first object of a kind waits for.
func BenchmarkCompile(b *testing.B) {
	obj := object(b, pool)
	for b.Loop() {
		if _, errs := validator(b).Validate(obj, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
