package sweep

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// classes simulates each class of plans that the region sells, with the cap on CPUs that is
// best for it: classes differ in their prices by size, and a cap that is right for one is
// wrong for another. All else that pools require stays; a pool that names plan types keeps
// these.
func classes(ctx context.Context, in simulate.Input) ([]Step, error) {
	now, err := Step{Pools: []Capped{}}.of(ctx, in)
	if err != nil {
		return nil, err
	}
	steps := []Step{now}
	var names []string
	for _, plan := range sold(in) {
		names = append(names, plan.Class)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one, changed, possible, err := ofClass(in, name)
		if err != nil {
			return nil, err
		}
		if !possible {
			continue
		}
		capped, err := caps(ctx, one, sizeOf("cpu"))
		if err != nil {
			return nil, err
		}
		best := capped[0]
		if best.Class, best.Pools = name, both(changed, best.Pools); len(best.Pools) > 0 {
			steps = append(steps, best) // else it is as it is
		}
	}
	slices.SortStableFunc(steps, better)
	return steps, nil
}

// both joins what is written for the class of pools with what is for their size.
func both(class, size []Capped) (all []Capped) {
	for _, c := range class {
		for _, s := range size {
			if s.Pool == c.Pool {
				c.HCL += ", " + s.HCL
			}
		}
		all = append(all, c)
	}
	for _, s := range size {
		if !slices.ContainsFunc(class, func(c Capped) bool { return c.Pool == s.Pool }) {
			all = append(all, s)
		}
	}
	return all
}

// ofClass has pools take the plans of one class instead of those that they allow. Possible is
// whether any of them can.
func ofClass(in simulate.Input, class string) (one simulate.Input, changed []Capped, possible bool, err error) {
	types := instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	one = in
	one.Objects, changed, err = change(in, func(pool *karpv1.NodePool) (string, bool) {
		requirements := &pool.Spec.Template.Spec.Requirements
		kept := slices.DeleteFunc(slices.Clone(*requirements), func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == linodev1alpha1.LabelInstanceClass
		})
		*requirements = append(kept, karpv1.NodeSelectorRequirementWithMinValues{
			Key: linodev1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: []string{class},
		})
		possible = possible || pool.Spec.Replicas == nil && len(within(types, pool)) > 0
		return "class = " + strconv.Quote(class), true
	})
	return one, changed, possible, err
}
