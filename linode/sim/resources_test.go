package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func has(t *testing.T) catalog.NodeResources {
	t.Helper()
	sold, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	plan, ok := sold.Plan("g6-standard-2")
	if !ok {
		t.Fatal("no plan")
	}
	return plan.Reported()
}

func TestAllocatableOfAKubelet(t *testing.T) {
	const mib = int64(1) << 20
	plain := has(t)
	for _, tc := range []struct {
		name     string
		settings KubeletSettings
		change   func(capacity, allocatable *catalog.Resources)
	}{
		{"nothing said", KubeletSettings{}, func(_, _ *catalog.Resources) {}},
		{"fewer pods", KubeletSettings{MaxPods: 50}, func(c, a *catalog.Resources) { c.Pods, a.Pods = 50, 50 }},
		{"pods to a core", KubeletSettings{PodsPerCore: 10}, func(c, a *catalog.Resources) { c.Pods, a.Pods = 20, 20 }},
		{"the fewer of both", KubeletSettings{PodsPerCore: 10, MaxPods: 15}, func(c, a *catalog.Resources) { c.Pods, a.Pods = 15, 15 }},
		{
			"reserved", KubeletSettings{
				KubeReserved:   map[string]string{"cpu": "100m", "memory": "200Mi", "pid": "100"},
				SystemReserved: map[string]string{"cpu": "0.2", "ephemeral-storage": "1Mi"},
			}, func(_, a *catalog.Resources) {
				a.MilliCPU, a.MemoryBytes, a.EphemeralBytes = a.MilliCPU-300, a.MemoryBytes-200*mib, a.EphemeralBytes-mib
			},
		},
		{
			// A configuration that names a signal has no other.
			"eviction", KubeletSettings{EvictionHard: map[string]string{"memory.available": "5%"}},
			func(c, a *catalog.Resources) {
				a.MemoryBytes = c.MemoryBytes - int64(float64(c.MemoryBytes)*float64(float32(5)/100))
				a.EphemeralBytes = c.EphemeralBytes
			},
		},
		{
			"eviction in addition to the defaults",
			KubeletSettings{EvictionHard: map[string]string{"memory.available": "1Mi"}, MergeDefaultEvictionSettings: true},
			func(c, a *catalog.Resources) { a.MemoryBytes = c.MemoryBytes - mib },
		},
		{"k3s", k3sSettings(), func(c, a *catalog.Resources) {
			a.MemoryBytes = c.MemoryBytes
			a.EphemeralBytes = c.EphemeralBytes - int64(float64(c.EphemeralBytes)*float64(float32(5)/100))
		}},
		{
			"more than there is", KubeletSettings{SystemReserved: map[string]string{"cpu": "3", "memory": "64Gi"}},
			func(_, a *catalog.Resources) { a.MilliCPU, a.MemoryBytes = 0, 0 },
		},
	} {
		want := plain
		tc.change(&want.Capacity, &want.Allocatable)
		if d := cmp.Diff(want, tc.settings.offered(plain.Capacity)); d != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, d)
		}
	}
}
