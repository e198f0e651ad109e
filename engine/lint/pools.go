package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// The number of pairs is the square of the number of pools. Pools with different taints are not compared, and pools with
// different labels cheaply. The rest is limited, for directories with thousands of pools.
const (
	mostPairs = 20_000
	mostLooks = 1_000_000
)

// equals finds pools that fit the same pods and have no order. Karpenter then uses the pool whose name is last in the alphabet
// (karpenter v1.15.0, OrderByWeight), which is rarely intended.
func equals(c *checker) {
	looks, pairs := mostLooks, mostPairs
	for _, group := range groups(c.pools, func(p *pool) string { return fmt.Sprint(weight(p), " ", taintKey(p)) }) {
		taken := map[*pool]bool{}
		for i, p := range group {
			if taken[p] {
				continue
			}
			var rivals []*pool
			for _, other := range group[i+1:] {
				if looks--; looks < 0 || pairs < 0 {
					return
				}
				if taken[other] || apart(p, other) {
					continue
				}
				pairs--
				if shares(p, other) {
					rivals = append(rivals, other)
					taken[other] = true
				}
			}
			if len(rivals) > 0 {
				c.equal(p, rivals)
			}
		}
	}
}

func (c *checker) equal(p *pool, rivals []*pool) {
	first := p
	var addrs []string
	for _, r := range rivals {
		addrs = append(addrs, r.object.Addr.String())
		if r.Name > first.Name {
			first = r
		}
	}
	path := "metadata.name"
	if p.Spec.Weight != nil {
		path = "spec.weight"
	}
	c.report(p.object.Addr, path,
		"The same pods can run in this pool and in %s, and these pools have the same weight, %d. Karpenter then uses the pool "+
			"whose name is last in the alphabet: %s. Give the preferred pool a larger weight, or distinguish the pools "+
			"by taints or labels.",
		joined(addrs), weight(p), first.object.Addr)
}

// groups divides the pools that are not static and can have nodes, in the order of their first member.
func groups(pools []*pool, key func(*pool) string) [][]*pool {
	var all [][]*pool
	index := map[string]int{}
	for _, p := range pools {
		if p.static() || len(p.plans) == 0 {
			continue
		}
		k := key(p)
		if _, known := index[k]; !known {
			index[k], all = len(all), append(all, nil)
		}
		all[index[k]] = append(all[index[k]], p)
	}
	return all
}

func weight(p *pool) int32 { return ptr.Deref(p.Spec.Weight, 0) }

// taintKey is equal for pools that the same pods tolerate.
func taintKey(p *pool) string {
	var taints []string
	for _, t := range p.Spec.Template.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, t.ToString())
		}
	}
	slices.Sort(taints)
	return strings.Join(slices.Compact(taints), " ")
}

// apart reports whether a label distinguishes two pools, so that pods can select one.
func apart(a, b *pool) bool {
	for key, value := range a.Spec.Template.Labels {
		if other, ok := b.Spec.Template.Labels[key]; ok && other != value {
			return true
		}
	}
	return false
}

// shares reports whether a pod fits in both pools, on the same plan.
func shares(a, b *pool) bool {
	if a.requirements.Intersects(b.requirements) != nil {
		return false
	}
	return slices.ContainsFunc(a.plans, func(it *cloudprovider.InstanceType) bool {
		return slices.Contains(b.plans, it)
	})
}
