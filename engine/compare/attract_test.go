package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestAttraction: without a cluster, which changes of the pool b or of limits may attract pods of the pool a, and which
// cannot. Where nothing is said of a pair, its nodes do not change.
func TestAttraction(t *testing.T) {
	const (
		four, eight  = `requirements = { class = "dedicated", cpu = 4 }`, `requirements = { class = "dedicated", cpu = 8 }`
		cheap, wider = `requirements = { class = "standard", cpu = 4 }`, `requirements = { class = "standard", cpu = between(4, 8) }`
		key, value   = `taints = ["x=y:NoSchedule"]`, `taints = ["x=z:NoSchedule"]`
		never        = "disruption {\n    consolidate_after = \"Never\"\n  }"
		empty        = "disruption {\n    policy = \"WhenEmpty\"\n    consolidate_after = \"1m\"\n  }"
		balanced     = "disruption {\n    policy = \"Balanced\"\n    consolidate_after = \"1m\"\n  }"
	)
	pool := func(name string, lines ...string) string {
		return fmt.Sprintf("pool %q {\n  node_class = node_class.c\n  %s\n}\n", name, strings.Join(lines, "\n  "))
	}
	limits := func(lines string) string { return "limits \"all\" {\n  " + lines + "\n}\n" }
	only := func(plan string) string { return fmt.Sprintf("requirements = { instance_type = %q }", plan) }
	b := func(lines ...string) string { return pool("b", lines...) }
	tests := []struct {
		name          string
		a             []string
		before, after string // other blocks
		may           bool   // nodes of a may be removed
		want          []string
	}{
		// Those that may.
		{name: "a new pool that is cheaper", after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool that is dearer and tried first", after: b(eight, `weight = 10`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and a larger weight"}},
		{name: "a new pool that is dearer, with the same weight", after: b(eight), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool that is cheaper and tried last", a: []string{four, `weight = 50`}, after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the price of g7-dedicated-8-4 is unknown; to update the catalogue, run \"lkeplan catalog refresh\""}},
		{name: "a new pool that is cheaper and tried last, with known prices", a: []string{only("g6-dedicated-8"), `weight = 50`}, after: b(only("g6-dedicated-4")), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and its cheapest plan type costs $72 a month, their dearest $144"}},
		{name: "a new pool that is tried last, with plan types of unknown prices", a: []string{four, `weight = 50`}, after: b(eight), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the price of g7-dedicated-16-8, g7-dedicated-8-4 and 2 more is unknown; to update the catalogue, run \"lkeplan catalog refresh\""}},
		{name: "a new pool with a soft taint", after: b(cheap, `taints = ["x=y:PreferNoSchedule"]`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool with the taint of the other", a: []string{four, key}, after: b(cheap, key), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool with the taint of the other and another effect", a: []string{four, key}, after: b(cheap, `taints = ["x=y:NoExecute"]`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a pool that is deleted, and was tried first", before: b(eight), may: true,
			want: []string{"without pool.b, Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "a new pool with a number of nodes", a: []string{four, `weight = 50`}, after: b(eight, `replicas = 2`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; no taint keeps them off its nodes"}},
		{name: "a new pool next to one that is balanced", a: []string{four, balanced}, after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool next to two", before: pool("d", four), after: pool("d", four) + b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a, pool.d: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a new pool of another class", after: "node_class \"other\" {}\n" + strings.Replace(b(cheap), "node_class.c", "node_class.other", 1), may: true,
			want: []string{"pool.b may attract pods of pool.a: it is new; it has no taint that they do not tolerate, and the same weight"}},
		{name: "taints that go", before: b(cheap, key), after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has fewer taints; no taint keeps them off its nodes"}},
		{name: "a taint that becomes soft", before: b(cheap, key), after: b(cheap, `taints = ["x=y:PreferNoSchedule"]`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has fewer taints; no taint keeps them off its nodes"}},
		{name: "wider requirements", before: b(cheap), after: b(wider), may: true,
			want: []string{"pool.b may attract pods of pool.a: it allows more plan types; it has no taint that they do not tolerate, and the same weight"}},
		{name: "another class of plan types", before: b(cheap), after: b(`requirements = { class = ["standard", "dedicated"], cpu = 4 }`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it allows more plan types; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a larger limit", before: b(cheap, `limits = { cpu = 8 }`), after: b(cheap, `limits = { cpu = 16 }`), may: true,
			want: []string{"pool.b may attract pods of pool.a: its limits are larger; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a limit that goes", before: b(cheap, `limits = { cpu = 8 }`), after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: its limits are larger; it has no taint that they do not tolerate, and the same weight"}},
		{name: "a limit of zero that goes", before: b(cheap, `limits = { cpu = 0 }`), after: b(cheap), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has nodes again; it has no taint that they do not tolerate, and the same weight"}},
		{name: "more replicas", before: b(cheap, `replicas = 1`), after: b(cheap, `replicas = 2`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has more nodes; no taint keeps them off its nodes"}},
		{name: "replicas from zero", before: b(cheap, `replicas = 0`), after: b(cheap, `replicas = 2`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has more nodes; no taint keeps them off its nodes"}},
		{name: "limits of several pools", before: b(cheap) + limits("nodes = 4"), after: b(cheap) + limits("nodes = 5"), may: true,
			want: []string{"pool.a may attract pods of pool.b: its limits are larger; it has no taint that they do not tolerate, and the same weight", "pool.b may attract pods of pool.a: its limits are larger; it has no taint that they do not tolerate, and the same weight"}},
		{name: "limits of the pool", before: b(cheap) + limits("pools = [pool.b]\n  nodes = 4"), after: b(cheap) + limits("pools = [pool.b]\n  nodes = 5"), may: true,
			want: []string{"pool.b may attract pods of pool.a: its limits are larger; it has no taint that they do not tolerate, and the same weight"}},
		{name: "labels that pods of the other may select", a: []string{four, `labels = { team = "x" }`}, before: b(cheap), after: b(cheap, `labels = { team = "x" }`), may: true,
			want: []string{"pool.b may attract pods of pool.a: it has other labels; no taint keeps them off its nodes"}},
		{name: "a smaller limit", before: b(cheap, `limits = { cpu = 16 }`), after: b(cheap, `limits = { cpu = 8 }`), may: true,
			want: []string{"with less capacity of pool.b (its limits are lower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "a limit", before: b(cheap), after: b(cheap, `limits = { cpu = 8 }`), may: true,
			want: []string{"with less capacity of pool.b (its limits are lower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "a limit of zero", before: b(cheap), after: b(cheap, `limits = { cpu = 0 }`), may: true,
			want: []string{"with less capacity of pool.b (its limits are lower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "narrower requirements", before: b(wider), after: b(cheap), may: true,
			want: []string{"with less capacity of pool.b (its requirements are narrower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "more taints", before: b(cheap), after: b(cheap, key), may: true,
			want: []string{"with less capacity of pool.b (it has more taints), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "a number of nodes in the place of nodes for pods", before: b(cheap), after: b(cheap, key, `replicas = 0`), may: true,
			want: []string{"with less capacity of pool.b (it has a number of nodes), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "labels that go, which pods of the other may select", a: []string{four, `labels = { team = "x" }`}, before: b(cheap, `labels = { team = "x" }`), after: b(cheap), may: true,
			want: []string{"with less capacity of pool.b (it has other labels), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "lower limits of several pools", before: b(cheap) + limits("nodes = 5"), after: b(cheap) + limits("nodes = 4"), may: true,
			want: []string{"with less capacity of pool.b (its limits are lower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "new limits of several pools", before: b(cheap), after: b(cheap) + limits("nodes = 4"), may: true,
			want: []string{"with less capacity of pool.b (its limits are lower), Karpenter may move pods of pool.a: it was tried before them, so that other pools may be cheaper now"}},
		{name: "a lower weight", a: []string{four, `weight = 50`}, before: b(cheap, `weight = 60`), after: b(cheap, `weight = 40`), may: true},

		// Those that cannot.
		{name: "a new pool with a taint", after: b(cheap, key),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint x=y:NoSchedule, which they do not tolerate for their own pool"}},
		{name: "a new pool with a taint that evicts", after: b(cheap, `taints = ["x=y:NoExecute"]`),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint x=y:NoExecute, which they do not tolerate for their own pool"}},
		{name: "a new pool whose taint has another value", a: []string{four, key}, after: b(cheap, value),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint x=z:NoSchedule, which they do not tolerate for their own pool"}},
		{name: "a new pool with a taint more", a: []string{four, key}, after: b(cheap, `taints = ["x=y:NoSchedule", "z=:NoSchedule"]`),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint z:NoSchedule, which they do not tolerate for their own pool"}},
		{name: "a new pool whose taint is soft in the other", a: []string{four, `taints = ["x=y:PreferNoSchedule"]`}, after: b(cheap, key),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint x=y:NoSchedule, which they do not tolerate for their own pool"}},
		{name: "a new pool that is dearer and tried last", a: []string{only("g6-dedicated-4"), `weight = 50`}, after: b(only("g6-dedicated-8")),
			want: []string{"pool.b attracts no pods of pool.a: its weight is lower, and its plan types cost at least $144 a month, theirs at most $72"}},
		{name: "a new pool that costs the same and is tried last", a: []string{only("g6-dedicated-4"), `weight = 50`}, after: b(only("g6-dedicated-4")),
			want: []string{"pool.b attracts no pods of pool.a: its weight is lower, and its plan types cost at least $72 a month, theirs at most $72"}},
		{name: "a new pool with a number of nodes and a taint", a: []string{four, `weight = 50`}, after: b(eight, key, `replicas = 2`),
			want: []string{"pool.b attracts no pods of pool.a: it has the taint x=y:NoSchedule, which they do not tolerate for their own pool"}},
		{name: "a new pool next to one that never consolidates", a: []string{four, never}, after: b(cheap),
			want: []string{"pool.b attracts no pods of pool.a: their nodes are not consolidated"}},
		{name: "a new pool next to one that removes empty nodes", a: []string{four, empty}, after: b(cheap),
			want: []string{"pool.b attracts no pods of pool.a: their nodes are consolidated only when they are empty"}},
		{name: "a new pool next to one with a number of nodes", a: []string{four, `replicas = 2`}, after: b(cheap),
			want: []string{"pool.b attracts no pods of pool.a: their nodes are not consolidated"}},
		{name: "a new pool with a limit of zero", after: b(cheap, `limits = { cpu = 0 }`)},
		{name: "a new pool with no replicas", after: b(cheap, `replicas = 0`)},
		{name: "wider requirements behind a taint", before: b(cheap, key), after: b(wider, key)},
		{name: "a larger limit of a pool that is dearer and tried last", a: []string{only("g6-dedicated-4"), `weight = 50`}, before: b(only("g6-dedicated-8"), `limits = { cpu = 8 }`), after: b(only("g6-dedicated-8"), `limits = { cpu = 16 }`)},
		{name: "a smaller limit of a pool that is tried last", a: []string{four, `weight = 50`}, before: b(cheap, `limits = { cpu = 16 }`), after: b(cheap, `limits = { cpu = 8 }`)},
		{name: "narrower requirements behind a taint", before: b(wider, key), after: b(cheap, key)},
		{name: "narrower requirements next to a pool that is not consolidated", a: []string{four, never}, before: b(wider), after: b(cheap)},
		{name: "a smaller limit of a pool without nodes", before: b(cheap, `limits = { cpu = 0, memory = "8Gi" }`), after: b(cheap, `limits = { cpu = 0, memory = "4Gi" }`)},
		{name: "more taints that pods of the other tolerate", a: []string{four, key}, before: b(cheap), after: b(cheap, key)},
		{name: "fewer replicas", before: b(cheap, `replicas = 2`), after: b(cheap, `replicas = 1`)},
		{name: "a pool that is deleted, and was tried last", a: []string{four, `weight = 50`}, before: b(cheap)},
		{name: "a pool with a taint that is deleted", before: b(cheap, key)},
		{name: "a pool that is deleted, next to one that is not consolidated", a: []string{four, never}, before: b(cheap)},
		{name: "labels that no other pool has", before: b(cheap), after: b(cheap, `labels = { team = "x" }`)},
		{name: "lower limits of another pool", before: b(cheap) + limits("pools = [pool.a]\n  nodes = 5"), after: b(cheap) + limits("pools = [pool.a]\n  nodes = 4")},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.a == nil {
				tt.a = []string{four}
			}
			same := cluster5 + "node_class \"c\" {}\n" + pool("a", tt.a...)
			base, head := compiledWhole(t, same+tt.before), compiledWhole(t, same+tt.after)
			now := time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)
			p, err := plan.Diff(t.Context(), stateOf(base, regionOffers(base.Cluster, prices), prices, now), stateOf(head, regionOffers(head.Cluster, prices), prices, now))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			may := false
			for _, c := range p.Changes {
				got = append(got, c.Attracts...)
				may = may || c.Addr == "pool.a" && c.Effect == plan.MayRemove
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || may != tt.may {
				t.Errorf("nodes of pool.a may be removed: %v, want %v; (-want +got)\n%s", may, tt.may, diff)
			}
		})
	}
}
