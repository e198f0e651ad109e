package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func TestCeiling(t *testing.T) {
	offer := func(name string, cpu, gib int64, dollars catalog.Money) Offer {
		return Offer{
			Requirements: scheduling.NewRequirements(scheduling.NewRequirement(corev1.LabelInstanceTypeStable,
				corev1.NodeSelectorOpIn, name)),
			MilliCPU: cpu * 1000, MemoryBytes: gib << 30, Monthly: dollars * catalog.Dollar,
		}
	}
	offers := []Offer{offer("small", 2, 4, 24), offer("large", 8, 16, 120), offer("huge", 64, 512, 5000)}
	in := func(names ...any) []any {
		return []any{map[string]any{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": names}}
	}
	tests := []struct {
		name         string
		limits       map[string]any
		requirements []any
		replicas     any
		want         string
	}{
		{"nothing limits it", nil, in("small"), nil, "unlimited"},
		{"a limit that is no amount of nodes", map[string]any{"nvidia.com/gpu": "4"}, in("small"), nil, "unlimited"},
		{"CPUs of one plan", map[string]any{"cpu": "100"}, in("small"), nil, "$1,200"},
		{"CPUs of the plan that is dearest for a CPU", map[string]any{"cpu": "100"}, in("small", "large"), nil, "$1,500"},
		{"thousandths of a CPU", map[string]any{"cpu": "1500m"}, in("small"), nil, "$18"},
		{"the tightest of two limits", map[string]any{"cpu": "1000", "memory": "40Gi"}, in("small"), nil, "$240"},
		{"nodes", map[string]any{"nodes": "3"}, in("small", "large"), nil, "$360"},
		{"a static pool", nil, in("huge"), int64(2), "$10,000"},
		{"a static pool that may have one more for a roll", map[string]any{"nodes": "3"}, in("huge"), int64(2), "$10,000"},
		{"a pool that no plan fits", map[string]any{"cpu": "100"}, in("none"), nil, "$0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := map[string]any{"template": map[string]any{"spec": map[string]any{"requirements": tt.requirements}}}
			if tt.limits != nil {
				spec["limits"] = tt.limits
			}
			if tt.replicas != nil {
				spec["replicas"] = tt.replicas
			}
			got, err := boundsOf(map[string]any{"spec": spec}, offers)
			if err != nil || got.Ceiling.String() != tt.want {
				t.Errorf("ceiling = %s, %v; want %s", got.Ceiling, err, tt.want)
			}
		})
	}
}
