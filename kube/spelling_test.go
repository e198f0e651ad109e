package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func fromYAML(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return whole(v).(map[string]any)
}

// whole makes whole numbers int64, as in live objects.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = whole(value)
		}
	case []any:
		for i, element := range v {
			v[i] = whole(element)
		}
	case float64:
		return int64(v)
	}
	return v
}

// TestSpelled: values that mean the same have the spelling of the live object, and all other
// values are those of the desired object. The CRD decides what means the same.
func TestSpelled(t *testing.T) {
	const pool, class = "{apiVersion: karpenter.sh/v1, kind: NodePool, ", "{apiVersion: karpenter.k8s.linode/v1, kind: LinodeNodeClass, "
	limits := func(of string) string { return pool + "spec: {limits: " + of + "}}" }
	labels := func(of string) string { return pool + "spec: {template: {metadata: {labels: " + of + "}}}}" }
	template := func(of string) string { return pool + "spec: {template: {spec: " + of + "}}}" }
	kubelet := func(of string) string { return class + "spec: {kubelet: " + of + "}}" }
	unknown := func(of string) string { return "{kind: Unknown, spec: " + of + "}" }
	tests := []struct{ name, wish, live, want string }{
		{"amounts", limits(`{cpu: "10", memory: 1Gi}`), limits(`{cpu: 10, memory: 1024Mi}`), limits(`{cpu: 10, memory: 1024Mi}`)},
		{"another amount", limits(`{cpu: "10"}`), limits(`{cpu: 20}`), limits(`{cpu: "10"}`)},
		{"an amount that is none", limits(`{cpu: "ten"}`), limits(`{cpu: "ten "}`), limits(`{cpu: "ten"}`)},
		{"a label that reads as an amount", labels(`{release: "1.1"}`), labels(`{release: "1.10"}`), labels(`{release: "1.1"}`)},
		{"a label with another unit", labels(`{n: "1k"}`), labels(`{n: "1000"}`), labels(`{n: "1k"}`)},
		{"a label of the object", pool + `metadata: {labels: {n: "1"}}}`, pool + `metadata: {labels: {n: "1.0"}}}`,
			pool + `metadata: {labels: {n: "1"}}}`},
		{"text of a kubelet", kubelet(`{kubeReserved: {memory: 1Gi}}`), kubelet(`{kubeReserved: {memory: 1024Mi}}`),
			kubelet(`{kubeReserved: {memory: 1Gi}}`)},
		{"order of name servers", kubelet(`{clusterDNS: [10.0.0.1, 10.0.0.2]}`), kubelet(`{clusterDNS: [10.0.0.2, 10.0.0.1]}`),
			kubelet(`{clusterDNS: [10.0.0.1, 10.0.0.2]}`)},
		{"a set by its schema", class + `spec: {tags: [a, b]}}`, class + `spec: {tags: [b, a]}}`, class + `spec: {tags: [b, a]}}`},
		{"an element more", class + `spec: {tags: [a, b, c]}}`, class + `spec: {tags: [b, a]}}`, class + `spec: {tags: [a, b, c]}}`},
		{"an element less", class + `spec: {tags: [a]}}`, class + `spec: {tags: [b, a]}}`, class + `spec: {tags: [a]}}`},
		{"a set of Karpenter", template(`{requirements: [{key: x, values: [a, b]}, {key: z}]}`),
			template(`{requirements: [{key: y}, {key: x, values: [b, a]}]}`),
			template(`{requirements: [{key: x, values: [b, a]}, {key: z}]}`)},
		{"empty fields of an element", template(`{taints: [{key: a}]}`), template(`{taints: [{key: a, value: ""}]}`),
			template(`{taints: [{key: a, value: ""}]}`)},
		{"an element that is there twice", template(`{taints: [{key: a}]}`), template(`{taints: [{key: a}, {key: a}]}`),
			template(`{taints: [{key: a}]}`)},
		{"order of a kind without a CRD", unknown(`{list: [a, b]}`), unknown(`{list: [b, a]}`), unknown(`{list: [a, b]}`)},
		{"amounts of a kind without a CRD", unknown(`{limits: {cpu: "1"}}`), unknown(`{limits: {cpu: 1}}`), unknown(`{limits: {cpu: "1"}}`)},
		{"another kind of thing", unknown(`{a: {b: c}}`), unknown(`{a: [b]}`), unknown(`{a: {b: c}}`)},
		{"not there", `{a: b}`, `{}`, `{a: b}`},
		{"a node class without a spec", class + `}`, class + `spec: {diskEncryption: enabled}}`, class + `spec: {tags: []}}`},
		{"a node class that never had one", class + `}`, class + `}`, class + `}`},
		{"another kind without a spec", `{kind: A}`, `{kind: A, spec: {a: b}}`, `{kind: A}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(fromYAML(t, tt.want), Spelled(fromYAML(t, tt.wish), fromYAML(t, tt.live))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
