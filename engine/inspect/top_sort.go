package inspect

import (
	"cmp"
	"slices"
	"strings"
)

// SortKey is what nodes are sorted by.
type SortKey string

// The keys, as people name them.
const (
	ByPool   SortKey = "pool"
	ByName   SortKey = "name"
	ByCPU    SortKey = "cpu"
	ByMemory SortKey = "memory"
	ByCost   SortKey = "cost"
	ByAge    SortKey = "age"
	ByState  SortKey = "state"
)

// SortKeys are all keys.
func SortKeys() []string {
	return []string{
		string(ByPool), string(ByName), string(ByCPU), string(ByMemory), string(ByCost), string(ByAge), string(ByState),
	}
}

// Sort sorts the nodes: names from a to z, states those first that somebody should look
// at, all else the most first. Nodes that are alike are sorted by pool and name.
func (s *Screen) Sort(by SortKey, reverse bool) {
	compare := map[SortKey]func(a, b NodeRow) int{
		ByPool:   func(a, b NodeRow) int { return strings.Compare(a.Pool, b.Pool) },
		ByName:   func(a, b NodeRow) int { return strings.Compare(a.Name, b.Name) },
		ByCPU:    func(a, b NodeRow) int { return cmp.Compare(b.CPU.Share(), a.CPU.Share()) },
		ByMemory: func(a, b NodeRow) int { return cmp.Compare(b.Memory.Share(), a.Memory.Share()) },
		ByCost:   func(a, b NodeRow) int { return cmp.Compare(b.Cost.PerMonth(), a.Cost.PerMonth()) },
		ByAge:    func(a, b NodeRow) int { return a.Created.Compare(b.Created) },
		ByState: func(a, b NodeRow) int {
			return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
		},
	}[by]
	slices.SortStableFunc(s.Nodes, func(a, b NodeRow) int {
		order := compare(a, b)
		if reverse {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
	})
}
