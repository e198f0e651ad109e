package top

import (
	"cmp"
	"slices"
	"strings"
)

// Key is what nodes are sorted by.
type Key string

// The keys, as people name them.
const (
	ByPool   Key = "pool"
	ByName   Key = "name"
	ByCPU    Key = "cpu"
	ByMemory Key = "memory"
	ByCost   Key = "cost"
	ByAge    Key = "age"
	ByState  Key = "state"
)

// Keys are all keys.
func Keys() []string {
	return []string{
		string(ByPool), string(ByName), string(ByCPU), string(ByMemory), string(ByCost), string(ByAge), string(ByState),
	}
}

// Sort sorts the nodes: names from a to z, states those first that somebody should look
// at, all else the most first. Nodes that are alike are sorted by pool and name.
func (s *Screen) Sort(by Key, reverse bool) {
	compare := map[Key]func(a, b Node) int{
		ByPool:   func(a, b Node) int { return strings.Compare(a.Pool, b.Pool) },
		ByName:   func(a, b Node) int { return strings.Compare(a.Name, b.Name) },
		ByCPU:    func(a, b Node) int { return cmp.Compare(b.CPU.Share(), a.CPU.Share()) },
		ByMemory: func(a, b Node) int { return cmp.Compare(b.Memory.Share(), a.Memory.Share()) },
		ByCost:   func(a, b Node) int { return cmp.Compare(b.Cost.PerMonth(), a.Cost.PerMonth()) },
		ByAge:    func(a, b Node) int { return a.Created.Compare(b.Created) },
		ByState: func(a, b Node) int {
			return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
		},
	}[by]
	slices.SortStableFunc(s.Nodes, func(a, b Node) int {
		order := compare(a, b)
		if reverse {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Pool, b.Pool), strings.Compare(a.Name, b.Name))
	})
}
