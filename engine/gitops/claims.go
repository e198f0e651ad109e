package gitops

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Claims knows which objects each NodePlan wants, so that two that want the same
// one find out about each other, whichever was first.
type Claims struct {
	// Tell is called for each NodePlan that has got another to share objects with,
	// or got rid of one; nil for nobody.
	Tell func(types.NamespacedName)

	mu     sync.Mutex
	wanted map[types.NamespacedName]map[manifest.Key]bool
}

// NewClaims returns claims of nobody.
func NewClaims() *Claims { return &Claims{wanted: map[types.NamespacedName]map[manifest.Key]bool{}} }

// Claim replaces what a NodePlan wants, and returns who else wants some of it:
// by object, the other NodePlans in order.
func (c *Claims) Claim(plan types.NamespacedName, objects []manifest.Key) map[manifest.Key][]types.NamespacedName {
	rivals, stirred := c.claim(plan, objects)
	for _, other := range stirred {
		if c.Tell != nil {
			c.Tell(other)
		}
	}
	return rivals
}

// claim also returns those for whom it makes a difference whether they have this
// one to share with.
func (c *Claims) claim(plan types.NamespacedName, objects []manifest.Key) (rivals map[manifest.Key][]types.NamespacedName, stirred []types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine, before := map[manifest.Key]bool{}, c.wanted[plan]
	for _, o := range objects {
		mine[o] = true
	}
	c.wanted[plan] = mine
	rivals = map[manifest.Key][]types.NamespacedName{}
	for other, theirs := range c.wanted {
		if other == plan {
			continue
		}
		shared, sharedBefore := false, false
		for o := range theirs {
			sharedBefore = sharedBefore || before[o]
			if mine[o] {
				shared = true
				rivals[o] = append(rivals[o], other)
			}
		}
		if shared != sharedBefore {
			stirred = append(stirred, other)
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
	return rivals, stirred
}

// Others returns the other NodePlans that want an object, in order.
func (c *Claims) Others(plan types.NamespacedName, object manifest.Key) (others []types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, theirs := range c.wanted {
		if other != plan && theirs[object] {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return others
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
