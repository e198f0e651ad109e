package plan

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A limitsBlock is a CapacityLimit: a limit on the size and cost of several pools together.
type limitsBlock struct {
	addr    string
	pools   map[string]bool              // nil stands for all of them
	amounts map[string]resource.Quantity // of nodes, cpu and memory
	monthly Ceiling
}

func (l limitsBlock) covers(pool string) bool { return l.pools == nil || l.pools[pool] }

// limitsOfSeveral returns the CapacityLimits among objects.
func limitsOfSeveral(objects []object) (all []limitsBlock, err error) {
	for _, o := range objects {
		if o.limit == nil {
			continue
		}
		l := limitsBlock{addr: o.Addr.String(), amounts: map[string]resource.Quantity{}, monthly: Ceiling{Unlimited: true}}
		spec := o.limit.Spec
		if spec.NodePools != nil {
			l.pools = map[string]bool{}
			for _, name := range spec.NodePools {
				l.pools[name] = true
			}
		}
		if spec.Nodes != nil {
			l.amounts["nodes"] = *resource.NewQuantity(*spec.Nodes, resource.DecimalSI)
		}
		for name, amount := range map[string]*resource.Quantity{"cpu": spec.CPU, "memory": spec.Memory} {
			if amount != nil {
				l.amounts[name] = *amount
			}
		}
		if text := ptr.Deref(spec.MonthlyCost, ""); text != "" {
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

// bound returns the maximum cost of pools within the limits. It is the minimum of the money that the block allows,
// of the cost of nodes that fit its limits in any pool, and of the cost of nodes that fit each limit within the
// pools' ceilings.
func (l limitsBlock) bound(pools []pricedPool) Ceiling {
	nodes, added := &mix{}, map[*mix]bool{} // many pools have the same
	for _, p := range pools {
		switch {
		case added[p.nodes]:
		case len(added) == 0:
			nodes = p.nodes
		default:
			nodes = &mix{shares: slices.Clone(nodes.shares), unknown: nodes.unknown || p.nodes.unknown}
			nodes.add(p.nodes.shares...)
		}
		added[p.nodes] = true
	}
	most, _ := nodes.most(l.amounts)
	most = most.or(l.monthly)
	for name, limit := range l.amounts {
		if limit.Sign() > 0 {
			most = most.or(fillCheapest(pools, slices.Index(counted[:], name), inShares(name, limit)))
		}
	}
	return most
}

// fillCheapest returns the maximum cost of pools that share an amount of one resource: the pools that cost most per
// unit come first, each up to its ceiling.
func fillCheapest(pools []pricedPool, resource int, amount *big.Rat) (most Ceiling) {
	type cheap struct {
		pricedPool
		share *big.Rat // the least of the resource that a dollar buys
	}
	var order []cheap
	for _, p := range pools {
		most.AtLeast = most.AtLeast || p.nodes.unknown
		if len(p.nodes.shares) > 0 {
			order = append(order, cheap{p, p.nodes.least[resource]})
		}
	}
	slices.SortStableFunc(order, func(a, b cheap) int { return a.share.Cmp(b.share) })
	for _, p := range order {
		used := new(big.Rat).Mul(p.share, new(big.Rat).SetInt64(int64(p.cost.Ceiling.Monthly)))
		if !p.cost.Ceiling.Unlimited && used.Cmp(amount) <= 0 {
			most = most.plus(Ceiling{Monthly: p.cost.Ceiling.Monthly})
			amount = new(big.Rat).Sub(amount, used)
			continue
		}
		if p.share.Sign() == 0 {
			return Ceiling{Unlimited: true}
		}
		return most.plus(ceilingOf(new(big.Rat).Quo(amount, p.share)))
	}
	return most
}

// or returns the lower of two ceilings that both hold. A known ceiling holds even if the other is unknown.
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

// A priced pool is a pool with the offers for its nodes.
type pricedPool struct {
	name  string
	nodes *mix
	cost  Cost
}

// A bounded set is a set of pools with a common ceiling.
type boundedSet struct {
	pools   []pricedPool
	ceiling Ceiling
	by      []string // the limits blocks that bind
}

// boundTogether bounds the cost of pools with limits on several of them. Each pool is in one set. A limit joins the
// sets that it covers if its bound is lower than their sum. If limits are disjoint or nested, the result is the least
// bound; if they overlap, it is an upper bound.
func boundTogether(ctx context.Context, pools []pricedPool, limits []limitsBlock) (sum Ceiling, by []string) {
	var sets []boundedSet
	for _, p := range pools {
		set := boundedSet{pools: []pricedPool{p}, ceiling: p.cost.Ceiling}
		if p.cost.Alone != nil {
			set.by = p.cost.By
		}
		sets = append(sets, set)
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
		if ctx.Err() != nil {
			break
		}
		sets = joinSets(sets, l)
	}
	for _, s := range sets {
		sum, by = sum.plus(s.ceiling), union(by, s.by)
	}
	if sum.Unlimited {
		return sum, nil
	}
	return sum, by
}

func joinSets(sets []boundedSet, l limitsBlock) []boundedSet {
	joined := boundedSet{by: []string{l.addr}}
	var apart []boundedSet
	var covered []pricedPool
	var separately, outside Ceiling
	for _, s := range sets {
		if !slices.ContainsFunc(s.pools, func(p pricedPool) bool { return l.covers(p.name) }) {
			apart = append(apart, s)
			continue
		}
		joined.pools = append(joined.pools, s.pools...)
		separately = separately.plus(s.ceiling)
		for _, p := range s.pools {
			if l.covers(p.name) {
				covered = append(covered, p)
			} else {
				outside = outside.plus(p.cost.Ceiling)
				joined.by = union(joined.by, s.by)
			}
		}
	}
	joined.ceiling = l.bound(covered).plus(outside)
	if joined.ceiling.or(separately) == separately {
		return sets
	}
	return append(apart, joined)
}
