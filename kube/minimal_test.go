package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMinimal omits defaults, and keeps values that only look like defaults.
func TestMinimal(t *testing.T) {
	validator := newValidator()
	const template = "template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: [{key: a, " +
		"operator: Exists}]"
	tests := []struct{ name, spec, want string }{
		{"defaults", template +
			", expireAfter: 720h}}\ndisruption: {consolidateAfter: 0s, consolidationPolicy: WhenEmptyOrUnderutilized, " +
			"budgets: [{nodes: 10%}]}", template + "}}"},
		{"an empty list is not the default", template + "}}\ndisruption: {consolidateAfter: 0s, budgets: []}",
			template + "}}\ndisruption: {budgets: []}"},
		{"one of several", template + "}}\ndisruption: {consolidateAfter: 5m, budgets: [{nodes: 10%}]}",
			template + "}}\ndisruption: {consolidateAfter: 5m}"},
		{"empty maps", template + "}, metadata: {labels: {}}}\nlimits: {}", template + "}}"},
		{"labels and annotations with empty values", template + "}, metadata: {labels: {a: \"\"}, annotations: {b: \"\"}}}",
			template + "}, metadata: {labels: {a: \"\"}, annotations: {b: \"\"}}}"},
		{"what is no default", template + ", expireAfter: 48h}}\nweight: 1", template + ", expireAfter: 48h}}\nweight: 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := func(spec string) map[string]any {
				return map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "a"},
					"spec": fromYAML(t, spec)}
			}
			given := pool(tt.spec)
			got, err := validator.Minimal(given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pool(tt.want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(pool(tt.spec), given); diff != "" {
				t.Errorf("the object itself was changed (-before +after)\n%s", diff)
			}
		})
	}
}
