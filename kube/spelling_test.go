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

// TestSpelled: what both say is said as it is there, and all else as it is
// wished.
func TestSpelled(t *testing.T) {
	tests := []struct{ name, wish, live, want string }{
		{"a number for text", `limits: {cpu: "10", memory: 1Gi}`, `limits: {cpu: 10, memory: 1024Mi}`,
			`limits: {cpu: 10, memory: 1Gi}`},
		{"another number", `limits: {cpu: "10"}`, `limits: {cpu: 20}`, `limits: {cpu: "10"}`},
		{"text that is no number", `labels: {a: "010"}`, `labels: {a: 10}`, `labels: {a: "010"}`},
		{"another order", `list: [a, b]`, `list: [b, a]`, `list: [b, a]`},
		{"an element more", `list: [a, b, c]`, `list: [b, a]`, `list: [a, b, c]`},
		{"an element less", `list: [a]`, `list: [b, a]`, `list: [a]`},
		{"elements in another order within", `list: [{key: x, values: [a, b]}, {key: z}]`,
			`list: [{key: y}, {key: x, values: [b, a]}]`, `list: [{key: x, values: [b, a]}, {key: z}]`},
		{"empty fields of an element", `taints: [{key: a}]`, `taints: [{key: a, value: ""}]`,
			`taints: [{key: a, value: ""}]`},
		{"a repetition", `list: [a]`, `list: [a, a]`, `list: [a, a]`},
		{"another kind of thing", `a: {b: c}`, `a: [b]`, `a: {b: c}`},
		{"not there", `a: b`, `{}`, `a: b`},
		{"a node class without a spec", `kind: LinodeNodeClass`, `spec: {diskEncryption: enabled}`,
			`{kind: LinodeNodeClass, spec: {tags: []}}`},
		{"a node class that never had one", `kind: LinodeNodeClass`, `{}`, `kind: LinodeNodeClass`},
		{"another kind without a spec", `kind: A`, `spec: {a: b}`, `kind: A`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(fromYAML(t, tt.want), Spelled(fromYAML(t, tt.wish), fromYAML(t, tt.live))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
