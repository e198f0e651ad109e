package limits_test

import (
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/linode/limits"
)

// A limit of 100 dollars a month on all pools has room for the cheaper of two plan
// types; what was reserved counts at once, so that the next claim is refused.
func ExampleBook_Reserve() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	node := func(plan string, dollars int64) limits.Node {
		return limits.Node{Pool: "web", Plan: plan, Sold: limits.Amounts{limits.MonthlyCost: dollars * 1_000_000}}
	}
	book := limits.NewBook()
	book.Show([]limits.Limit{{Name: "budget", Max: limits.Amounts{limits.MonthlyCost: 100_000_000}}}, nil, now)

	wishes := []limits.Node{node("g6-dedicated-8", 144), node("g6-dedicated-4", 72)}
	chosen, _, _ := book.Reserve("claim-1", wishes, now)
	fmt.Println("claim-1 gets", wishes[chosen].Plan)

	_, refusal, ok := book.Reserve("claim-2", wishes[1:], now)
	fmt.Printf("claim-2 gets a node: %v; %s has $%d of $100 in use\n", ok, refusal.Limit.Name, refusal.Used/1_000_000)
	// Output:
	// claim-1 gets g6-dedicated-4
	// claim-2 gets a node: false; budget has $72 of $100 in use
}
