package kube

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

var changes = flag.Int("changes", 400, "how many changed objects TestPartsAgree tries of each kind")

// TestPartsAgree: an object passes part by part if the API server's validation of the whole
// object finds no error. Objects are changed at random, and parts have been seen before or not.
func TestPartsAgree(t *testing.T) {
	v := BuiltinValidator()
	for _, text := range fullObjects {
		obj := fromYAML(t, text)
		t.Run(manifest.Kind(obj), func(t *testing.T) {
			d, err := v.version(obj)
			if err != nil {
				t.Fatal(err)
			}
			rules, err := d.compile()
			if err != nil {
				t.Fatal(err)
			}
			if rules.whole == nil {
				t.Fatal("the schema has a keyword that parts do not support")
			}
			namespaced := d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
			fresh := rules.memory.passed
			random := rand.New(rand.NewPCG(1, 2))
			good := 0
			for n := range *changes {
				changed := runtime.DeepCopyJSON(obj)
				for range n % 4 {
					change(random, changed)
				}
				rules.complete(changed)
				if n%50 == 0 {
					rules.memory.passed = fresh
				}
				errs := rules.validate(changed, nil, namespaced)
				if len(errs) == 0 {
					good++
				}
				for _, when := range []string{"first", "again"} {
					if passes := rules.passes(changed, namespaced); passes != (len(errs) == 0) {
						t.Fatalf("%s: passes part by part: %t, errors of the whole object: %v\n%s", when, passes, errs,
							asYAML(t, changed))
					}
				}
			}
			if good < *changes/8 || good > *changes*7/8 {
				t.Errorf("%d of %d objects are valid: the changes are too harmful or too harmless", good, *changes)
			}
		})
	}
}

// change sets, copies or deletes a value at a random place in an object.
func change(random *rand.Rand, obj map[string]any) {
	places := placesOf(obj)
	if len(places) == 0 {
		return
	}
	at := places[random.IntN(len(places))]
	other := places[random.IntN(len(places))]
	values := []any{"", "a", "A", "-1", "0", "10%", "1Gi", "karpenter.sh/nodepool", "a.karpenter.sh/b", "Gt", "In", "NotIn", "5m",
		"NoSchedule", "pid", int64(0), int64(1), int64(-1), int64(101), int64(1) << 40, 1.5, true, nil, map[string]any{}, []any{},
		[]any{"a", "a"}, map[string]any{"key": "a"}, other.get()}
	switch random.IntN(4) {
	case 0:
		at.remove()
	case 1:
		at.set(values[random.IntN(len(values))])
	case 2:
		at.set(alike(random, at.get()))
	case 3:
		if list, ok := at.get().([]any); ok && len(list) > 0 {
			at.set(append(slices.Clone(list), runtime.DeepCopyJSONValue(list[random.IntN(len(list))])))
		}
	}
}

// alike is a value of the same type.
func alike(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case string:
		return fmt.Sprint(v[:random.IntN(len(v)+1)], []string{"", "x", "9"}[random.IntN(3)])
	case int64:
		return v + int64(random.IntN(5)) - 2
	case bool:
		return !v
	}
	return v
}

// A spot is the place of a value: a field of a map, or an element of a list.
type spot struct {
	fields map[string]any
	name   string
	list   []any
	index  int
}

func (s spot) get() any {
	if s.fields == nil {
		return runtime.DeepCopyJSONValue(s.list[s.index])
	}
	return runtime.DeepCopyJSONValue(s.fields[s.name])
}

func (s spot) set(v any) {
	if s.fields == nil {
		s.list[s.index] = v
		return
	}
	s.fields[s.name] = v
}

func (s spot) remove() {
	if s.fields == nil {
		s.list[s.index] = nil
		return
	}
	delete(s.fields, s.name)
}

func placesOf(value any) (all []spot) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "apiVersion" && name != "kind" { // which select the rules
				all = append(all, spot{fields: v, name: name})
			}
			all = append(all, placesOf(v[name])...)
		}
	case []any:
		for i := range v {
			all = append(append(all, spot{list: v, index: i}), placesOf(v[i])...)
		}
	}
	return all
}

func asYAML(t *testing.T, obj map[string]any) []byte {
	t.Helper()
	text, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fullObjects have a value in most fields that have rules.
var fullObjects = []string{`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web, labels: {team: web}, annotations: {a/b: c}}
spec:
  weight: 10
  limits: {cpu: 400, memory: 1600Gi, nodes: 10}
  disruption:
    consolidateAfter: 10m
    consolidationPolicy: WhenEmpty
    budgets:
    - {nodes: 10%}
    - {nodes: "0", reasons: [Drifted, Empty], schedule: 0 13 * * mon-fri, duration: 10h}
  template:
    metadata: {labels: {example.com/team: web, tier: a}, annotations: {note: text}}
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      expireAfter: 720h
      terminationGracePeriod: 1h
      taints: [{key: team, value: web, effect: NoSchedule}, {key: b, effect: NoExecute}]
      startupTaints: [{key: c, effect: NoSchedule}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.linode/instance-cpu, operator: Gt, values: ["3"]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64], minValues: 1}
      - {key: example.com/x, operator: Exists}
`, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: static}
spec:
  replicas: 3
  limits: {nodes: 5}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
`, `
apiVersion: karpenter.k8s.linode/v1alpha1
kind: LinodeNodeClass
metadata: {name: default}
spec:
  tags: ["env:prod", "team:web"]
  authorizedKeys: [ssh-a, ssh-b]
  kubelet:
    maxPods: 110
    evictionHard: {memory.available: 5%, pid.available: 10%}
    evictionSoft: {memory.available: 10%}
    evictionSoftGracePeriod: {memory.available: 1m}
    kubeReserved: {cpu: 100m, memory: 1Gi}
    systemReserved: {cpu: 100m}
`, `
apiVersion: lkeplan.dev/v1alpha1
kind: CapacityLimit
metadata: {name: all}
spec: {nodePools: [a, b, c], nodes: 10, cpu: 100, memory: 1Ti, monthlyCost: "500"}
`, `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: cheap}
spec:
  weight: 3
  price: "1.5"
  requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`, `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: web}
spec: {replicas: 3, podTemplateRef: {name: spare}}
`}
