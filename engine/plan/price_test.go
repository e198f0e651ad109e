package plan

import (
	"context"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func TestCeiling(t *testing.T) {
	offer := func(name string, cpu, gib int64, dollars catalog.Money) Offer {
		return Offer{
			Requirements: scheduling.NewRequirements(scheduling.NewRequirement(corev1.LabelInstanceTypeStable,
				corev1.NodeSelectorOpIn, name)),
			MilliCPU: cpu * 1000, MemoryBytes: gib << 30, Monthly: dollars * catalog.Dollar,
			Capacity: map[string]int64{"pods": 110, "ephemeral-storage": 80 << 30},
		}
	}
	offers := []Offer{offer("small", 2, 4, 24), offer("large", 8, 16, 120), offer("huge", 64, 512, 5000), offer("card", 8, 32, 350)}
	offers[3].Capacity["nvidia.com/gpu"] = 1
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
		{"no GPU, of a plan without one", map[string]any{"nvidia.com/gpu": "0"}, in("small"), nil, "unlimited"},
		{"no GPU, of a plan with one", map[string]any{"nvidia.com/gpu": "0"}, in("card"), nil, "$0"},
		{"GPUs", map[string]any{"nvidia.com/gpu": "4"}, in("card"), nil, "$1,400"},
		{"pods", map[string]any{"pods": "220"}, in("small", "large"), nil, "$240"},
		{"disk", map[string]any{"ephemeral-storage": "160Gi"}, in("small"), nil, "$48"},
		{"a device that no catalogue counts", map[string]any{"example.com/card": "1"}, in("small"), nil, "unlimited"},
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
			pool := config.Object{Defaulted: map[string]any{"kind": "NodePool", "spec": spec}}
			pool.Manifest = pool.Defaulted
			var total Cost
			_, err := costs([]config.Object{pool}, offers, &total)
			if err != nil || total.Ceiling.String() != tt.want {
				t.Errorf("ceiling = %s, %v; want %s", total.Ceiling, err, tt.want)
			}
		})
	}
}

// TestUnknownPriceIsAtLeastTheRest: a plan without a price may cost more than all others, so that a sum with it is of
// what is known, and never zero. A limit of money holds at any price.
func TestUnknownPriceIsAtLeastTheRest(t *testing.T) {
	named := func(name string) scheduling.Requirements {
		return scheduling.NewRequirements(scheduling.NewRequirement(corev1.LabelInstanceTypeStable,
			corev1.NodeSelectorOpIn, name))
	}
	offers := []Offer{
		{Name: "small", Requirements: named("small"), MilliCPU: 2000, MemoryBytes: 4 << 30, Monthly: 24 * catalog.Dollar},
		{Name: "new", Requirements: named("new"), MilliCPU: 2000, MemoryBytes: 4 << 30, Unknown: true},
	}
	object := func(kind, name string, spec map[string]any) config.Object {
		obj := map[string]any{"kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
		return config.Object{Manifest: obj, Defaulted: obj}
	}
	pool := func(name string, limits map[string]any, replicas any, plans ...any) config.Object {
		spec := map[string]any{"template": map[string]any{"spec": map[string]any{"requirements": []any{
			map[string]any{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": plans}}}}}
		if limits != nil {
			spec["limits"] = limits
		}
		if replicas != nil {
			spec["replicas"] = replicas
		}
		return object("NodePool", name, spec)
	}
	cpus := map[string]any{"cpu": "100"}
	budget := object("CapacityLimit", "all", map[string]any{"monthlyCost": "700"})
	for _, tt := range []struct {
		name    string
		objects []config.Object
		ceiling string
		floor   catalog.Money
		unknown bool // the floor
	}{
		{"known", []config.Object{pool("a", cpus, nil, "small")}, "$1,200", 0, false},
		{"one of two", []config.Object{pool("a", cpus, nil, "small", "new")}, "at least $1,200", 0, false},
		{"only it", []config.Object{pool("a", cpus, nil, "new")}, "unknown", 0, false},
		{"no limit", []config.Object{pool("a", nil, nil, "new")}, "unlimited", 0, false},
		{"beside another", []config.Object{pool("a", cpus, nil, "new"), pool("b", cpus, nil, "small")}, "at least $1,200", 0, false},
		{"a budget", []config.Object{pool("a", cpus, nil, "new"), pool("b", cpus, nil, "small"), budget}, "$700", 0, false},
		{"a large budget", []config.Object{pool("a", map[string]any{"cpu": "2"}, nil, "small", "new"), budget}, "$700", 0, false},
		{"static", []config.Object{pool("a", nil, int64(2), "small", "new")}, "at least $48", 48 * catalog.Dollar, false},
		{"static beyond a budget", []config.Object{pool("a", nil, int64(40), "small"), budget}, "$700", 700 * catalog.Dollar, false},
		{"static beyond a limit", []config.Object{pool("a", map[string]any{"nodes": "2"}, int64(3), "small")}, "$48", 48 * catalog.Dollar, false},
		{"static and only it", []config.Object{pool("a", nil, int64(2), "new")}, "unknown", 0, true},
		{"static beside another", []config.Object{pool("a", nil, int64(2), "new"), pool("b", nil, int64(1), "small")},
			"at least $24", 24 * catalog.Dollar, true},
	} {
		var total Cost
		_, err := costs(tt.objects, offers, &total)
		if err != nil || total.Ceiling.String() != tt.ceiling || total.Floor != tt.floor || total.FloorUnknown != tt.unknown {
			t.Errorf("%s: ceiling %s, floor %s, unknown %v, %v; want %s, %s, %v", tt.name, total.Ceiling, total.Floor,
				total.FloorUnknown, err, tt.ceiling, tt.floor, tt.unknown)
		}
	}
}

// TestALargerLimitNeverCostsLess: also one that no int64 holds, of a pool, of several, or as the
// replicas of a static pool.
func TestALargerLimitNeverCostsLess(t *testing.T) {
	offers := []Offer{{Name: "small", MilliCPU: 2000, MemoryBytes: 4 << 30, Monthly: 24 * catalog.Dollar}}
	object := func(kind string, spec map[string]any) config.Object {
		obj := map[string]any{"kind": kind, "metadata": map[string]any{"name": "a"}, "spec": spec}
		return config.Object{Manifest: obj, Defaulted: obj}
	}
	pool := object("NodePool", map[string]any{})
	kinds := map[string]func(name string, limit any) []config.Object{
		"a pool": func(name string, limit any) []config.Object {
			return []config.Object{object("NodePool", map[string]any{"limits": map[string]any{name: limit}})}
		},
		"several pools": func(name string, limit any) []config.Object {
			if name == "nodes" { // the CRD takes an int64
				most, err := resource.ParseQuantity(limit.(string))
				if limit = most.Value(); err != nil || most.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) >= 0 {
					limit = int64(math.MaxInt64)
				}
			}
			return []config.Object{pool, object("CapacityLimit", map[string]any{name: limit})}
		},
	}
	check := func(t *testing.T, what any, last *Cost, objects []config.Object) {
		var c Cost
		if _, err := costs(objects, offers, &c); err != nil {
			t.Fatal(err)
		}
		if c.Floor < last.Floor || !c.Ceiling.Unlimited && (last.Ceiling.Unlimited || c.Ceiling.Monthly < last.Ceiling.Monthly) {
			t.Errorf("%v: %v after %v", what, c, *last)
		}
		*last = c
	}
	for kind, with := range kinds {
		for _, name := range []string{"nodes", "cpu", "memory"} {
			var last Cost
			for _, limit := range []string{"0", "1m", "1", "1k", "1M", "1G", "1T", "1P", "9P", "9223372036854775807m", "10P", "100P", "1E",
				"9e18", "9223372036854775807", "8Ei", "1e19", "100E", "1e20", "1e25", "1e30", "1e300"} {
				check(t, kind+": "+name+" = "+limit, &last, with(name, limit))
			}
		}
	}
	var last Cost
	for replicas := int64(1); replicas > 0; replicas *= 2 {
		check(t, replicas, &last, []config.Object{object("NodePool", map[string]any{"replicas": replicas})})
	}
}

// TestCeilingOfSeveralPools holds that a limits block bounds the cost of its pools
// together, by money and by what it counts.
func TestCeilingOfSeveralPools(t *testing.T) {
	offers := []Offer{{Name: "small", MilliCPU: 2000, MemoryBytes: 4 << 30, Monthly: 24 * catalog.Dollar}}
	pool := func(name string, limits map[string]any) config.Object {
		obj := map[string]any{"kind": "NodePool", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"limits": limits}}
		return config.Object{Manifest: obj, Defaulted: obj}
	}
	capped := func(spec map[string]any, pools ...any) config.Object {
		if pools != nil {
			spec["nodePools"] = pools
		}
		obj := map[string]any{"kind": "CapacityLimit", "spec": spec}
		return config.Object{Manifest: obj, Defaulted: obj}
	}
	hundred := map[string]any{"cpu": "100"} // $1,200
	three := []config.Object{pool("a", hundred), pool("b", hundred), pool("c", nil)}
	tests := []struct {
		name   string
		limits []config.Object
		want   string
	}{
		{"no limits block", nil, "unlimited"},
		{"money for all pools", []config.Object{capped(map[string]any{"monthlyCost": "700"})}, "$700"},
		{"money for the pool without a limit", []config.Object{capped(map[string]any{"monthlyCost": "700"}, "c")}, "$3,100"},
		{"money that is no bound", []config.Object{capped(map[string]any{"monthlyCost": "9000"}),
			capped(map[string]any{"monthlyCost": "700"}, "c")}, "$3,100"},
		{"nodes", []config.Object{capped(map[string]any{"nodes": int64(10)})}, "$240"},
		{"CPUs", []config.Object{capped(map[string]any{"cpu": "20"})}, "$240"},
		{"memory", []config.Object{capped(map[string]any{"memory": "40Gi"})}, "$240"},
		{"one limit within another", []config.Object{capped(map[string]any{"monthlyCost": "2000"}),
			capped(map[string]any{"monthlyCost": "500"}, "a", "b"), capped(map[string]any{"monthlyCost": "600"}, "c")}, "$1,100"},
		{"limits that overlap", []config.Object{capped(map[string]any{"monthlyCost": "500"}, "a", "b"),
			capped(map[string]any{"monthlyCost": "600"}, "b", "c")}, "$1,100"},
		{"a limit on a pool that is elsewhere", []config.Object{capped(map[string]any{"monthlyCost": "1"}, "z")}, "unlimited"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var total Cost
			_, err := costs(append(slices.Clone(three), tt.limits...), offers, &total)
			if err != nil || total.Ceiling.String() != tt.want {
				t.Errorf("ceiling = %s, %v; want %s", total.Ceiling, err, tt.want)
			}
		})
	}
}

func costs(objects []config.Object, offers []Offer, total *Cost) (map[manifest.Key]Cost, error) {
	s, err := sideOf(State{Objects: objects})
	if err != nil {
		return nil, err
	}
	return costsOf(context.Background(), s.objects, offers, total)
}
