package plan_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestNullReasons: each null that a policy can read has a reason, which names the pools.
func TestNullReasons(t *testing.T) {
	for _, tt := range []struct {
		name string
		cost plan.Cost
		want map[string]string
	}{
		{"known", plan.Cost{}, map[string]string{}},
		{"no limits", plan.Cost{Ceiling: plan.Ceiling{Unlimited: true}, Open: []string{"pool.a", "pool.b"}},
			map[string]string{"cost.ceiling": "no limit bounds the cost of pool.a and pool.b."}},
		{"many without limits", plan.Cost{Ceiling: plan.Ceiling{Unlimited: true},
			Open: []string{"pool.a", "pool.b", "pool.c", "pool.d", "pool.e"}},
			map[string]string{"cost.ceiling": "the cost of pool.a, pool.b, pool.c and 2 more."}},
		{"more than an amount can hold", plan.Cost{Ceiling: plan.Ceiling{Unlimited: true}},
			map[string]string{"cost.ceiling": "The maximum cost is unlimited. Set lower limits."}},
		{"no prices", plan.Cost{Ceiling: plan.Ceiling{AtLeast: true}, FloorUnknown: true}, map[string]string{
			"cost.ceiling": "The maximum cost is unknown", "cost.floor": "The minimum cost is unknown"}},
	} {
		reasons := plan.Plan{After: tt.cost}.NullReasons()
		for _, name := range []string{"cost.ceiling", "cost.floor"} {
			if got, want := reasons[name], tt.want[name]; !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%s: %s: %q, want %q", tt.name, name, got, want)
			}
		}
	}
}
