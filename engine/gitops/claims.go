package gitops

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Claims knows which objects each NodePlan wants, so that two that want the same
// one find out about each other, whichever was first.
type Claims struct {
	mu     sync.Mutex
	wanted map[types.NamespacedName]map[string]bool
}

// NewClaims returns claims of nobody.
func NewClaims() *Claims { return &Claims{wanted: map[types.NamespacedName]map[string]bool{}} }

// Claim replaces what a NodePlan wants, and returns who else wants some of it:
// by object, the other NodePlans in order.
func (c *Claims) Claim(plan types.NamespacedName, objects []string) map[string][]types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := map[string]bool{}
	for _, o := range objects {
		mine[o] = true
	}
	c.wanted[plan] = mine
	rivals := map[string][]types.NamespacedName{}
	for other, theirs := range c.wanted {
		if other == plan {
			continue
		}
		for o := range theirs {
			if mine[o] {
				rivals[o] = append(rivals[o], other)
			}
		}
	}
	for _, list := range rivals {
		slices.SortFunc(list, func(a, b types.NamespacedName) int {
			if a.String() < b.String() {
				return -1
			}
			return 1
		})
	}
	return rivals
}

// Drop forgets a NodePlan and returns those that wanted the same objects.
func (c *Claims) Drop(plan types.NamespacedName) []types.NamespacedName {
	c.mu.Lock()
	mine := slices.Collect(maps.Keys(c.wanted[plan]))
	c.mu.Unlock()
	rivals := map[types.NamespacedName]bool{}
	for _, list := range c.Claim(plan, mine) {
		for _, other := range list {
			rivals[other] = true
		}
	}
	c.mu.Lock()
	delete(c.wanted, plan)
	c.mu.Unlock()
	return slices.Collect(maps.Keys(rivals))
}
