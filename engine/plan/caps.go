package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A limitsBlock is a CapacityLimit: what several pools may hold and cost together.
type limitsBlock struct {
	pools   map[string]bool              // nil stands for all of them
	amounts map[string]resource.Quantity // of nodes, cpu and memory
	monthly Ceiling
}

func (l limitsBlock) covers(pool string) bool { return l.pools == nil || l.pools[pool] }

// limitsOfSeveral are the CapacityLimits among objects.
func limitsOfSeveral(objects []config.Object) (all []limitsBlock, err error) {
	for _, o := range objects {
		if o.Kind() != "CapacityLimit" {
			continue
		}
		l := limitsBlock{amounts: map[string]resource.Quantity{}, monthly: Ceiling{Unlimited: true}}
		spec := manifest.Map(o.Defaulted, "spec")
		if names, ok := spec["nodePools"].([]any); ok {
			l.pools = map[string]bool{}
			for _, name := range names {
				l.pools[fmt.Sprint(name)] = true
			}
		}
		for _, name := range []string{"nodes", "cpu", "memory"} {
			if spec[name] == nil {
				continue
			}
			if l.amounts[name], err = resource.ParseQuantity(fmt.Sprint(spec[name])); err != nil {
				return nil, fmt.Errorf("price %s: %w", o.Addr, err)
			}
		}
		if text := manifest.Text(spec, "monthlyCost"); text != "" {
			money, err := catalog.ParseMoney(text)
			if err != nil {
				return nil, fmt.Errorf("price %s: %w", o.Addr, err)
			}
			l.monthly = Ceiling{Monthly: money}
		}
		all = append(all, l)
	}
	return all, nil
}

// bound is the most that nodes of these rates cost within the limits.
func (l limitsBlock) bound(of rates) Ceiling {
	most := l.monthly
	for name, amount := range l.amounts {
		most = most.or(of.fill(name, amount))
	}
	return most
}

// or is the lower of two ceilings that both hold. One that is known holds whatever the other is.
func (c Ceiling) or(other Ceiling) Ceiling {
	switch {
	case c.Known() != other.Known() && !c.Unlimited && !other.Unlimited:
		if c.Known() {
			return c
		}
		return other
	case c.Unlimited, !other.Unlimited && other.Monthly < c.Monthly:
		return other
	}
	return c
}

// A priced pool is a pool with what its nodes can be made of.
type pricedPool struct {
	name    string
	rates   rates
	ceiling Ceiling
}

// A bounded set is pools that together cost no more than a ceiling.
type boundedSet struct {
	pools   []pricedPool
	ceiling Ceiling
}

func (s boundedSet) meets(l limitsBlock) bool {
	return slices.ContainsFunc(s.pools, func(p pricedPool) bool { return l.covers(p.name) })
}

// together bounds what pools cost within limits on several of them. Each pool is
// counted in one set; a limit joins the sets that it meets where that is less than
// they are by themselves. Where limits lie side by side or within each other the
// result is the least bound, and where they overlap it is a bound.
func together(pools []pricedPool, limits []limitsBlock) Ceiling {
	var sets []boundedSet
	for _, p := range pools {
		sets = append(sets, boundedSet{[]pricedPool{p}, p.ceiling})
	}
	width := func(l limitsBlock) int {
		if l.pools == nil {
			return len(pools)
		}
		return len(l.pools)
	}
	limits = slices.Clone(limits)
	slices.SortStableFunc(limits, func(a, b limitsBlock) int { return cmp.Compare(width(a), width(b)) })
	for _, l := range limits {
		sets = joinSets(sets, l)
	}
	var sum Ceiling
	for _, s := range sets {
		sum = sum.plus(s.ceiling)
	}
	return sum
}

func joinSets(sets []boundedSet, l limitsBlock) []boundedSet {
	var joined boundedSet
	var apart []boundedSet
	covered := rates{}
	var separately, outside Ceiling
	for _, s := range sets {
		if !s.meets(l) {
			apart = append(apart, s)
			continue
		}
		joined.pools = append(joined.pools, s.pools...)
		separately = separately.plus(s.ceiling)
		for _, p := range s.pools {
			if l.covers(p.name) {
				covered.add(p.rates)
			} else {
				outside = outside.plus(p.ceiling)
			}
		}
	}
	joined.ceiling = l.bound(covered).plus(outside)
	if joined.ceiling.or(separately) == separately {
		return sets
	}
	return append(apart, joined)
}
