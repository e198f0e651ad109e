package lint

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
)

// An overlay is a NodeOverlay with the plans that it selects.
type overlay struct {
	*v1alpha1.NodeOverlay
	object       config.Object
	requirements scheduling.Requirements
	plans        cloudprovider.InstanceTypes
}

func (c *checker) overlays() (all []overlay) {
	if len(c.types) == 0 {
		return nil
	}
	for object, typed := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		o := overlay{NodeOverlay: typed, object: object, requirements: scheduling.NewRequirements()}
		for _, r := range o.Spec.Requirements {
			o.requirements.Add(scheduling.NewNodeSelectorRequirements(r.AsNodeSelectorRequirement()).Values()...)
		}
		o.plans = allowed(c.types, wellKnown(o.requirements))
		all = append(all, o)
	}
	return all
}

// wellKnown leaves out requirements that do not select plans, such as the pool of an overlay.
func wellKnown(r scheduling.Requirements) scheduling.Requirements {
	known := scheduling.NewRequirements()
	for key, requirement := range r {
		if karpv1.WellKnownLabels.Has(key) && key != karpv1.NodePoolLabelKey {
			known.Add(requirement)
		}
	}
	return known
}

// overlaysOfNothing finds overlays that match no plan.
func overlaysOfNothing(c *checker) {
	for _, o := range c.overlays() {
		if len(o.plans) == 0 {
			c.report(o.object.Addr, "spec.requirements",
				"None of the %d plan types that are sold %s meets the requirements of the overlay, so it has no effect.",
				len(c.types), c.where())
		}
	}
}

// overlaysConflict finds overlays of the same weight that set the same field of one plan: Karpenter then applies the overlay
// whose name is last in the alphabet, and ignores the other completely (karpenter v1.14.1, controllers/nodeoverlay).
func overlaysConflict(c *checker) {
	all := c.overlays()
	pairs := mostPairs
	for i, o := range all {
		for _, other := range all[:i] {
			if pairs--; pairs < 0 {
				return
			}
			if ptr.Deref(o.Spec.Weight, 0) != ptr.Deref(other.Spec.Weight, 0) || !clash(o, other) ||
				o.requirements.Intersects(other.requirements) != nil {
				continue
			}
			at := slices.IndexFunc(o.plans, func(it *cloudprovider.InstanceType) bool {
				return slices.Contains(other.plans, it)
			})
			if at < 0 {
				continue
			}
			path := "metadata.name"
			if o.Spec.Weight != nil {
				path = "spec.weight"
			}
			first, second := o, other
			if o.Name < other.Name {
				first, second = other, o
			}
			c.report(o.object.Addr, path,
				"This overlay and %s set the same field of %s, and both have the weight %d. Karpenter then applies "+
					"the overlay whose name is last in the alphabet, %s, and ignores %s completely. Give the overlay "+
					"that must win a larger weight.",
				other.object.Addr, o.plans[at].Name, ptr.Deref(o.Spec.Weight, 0), first.object.Addr, second.object.Addr)
			break
		}
	}
}

// overlaysInPlace finds overlays that select a pool by a label that changes in place: Karpenter applies an overlay to the
// plans of a pool by the labels of its template (karpenter v1.14.1, getOverlaidOfferings in controllers/nodeoverlay).
func overlaysInPlace(c *checker) {
	for object, o := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		for i, r := range o.Spec.Requirements {
			at := slices.IndexFunc(c.pools, func(p *pool) bool { return slices.Contains(inplace.Keys(p.NodePool), r.Key) })
			if at >= 0 {
				c.report(object.Addr, fmt.Sprintf("spec.requirements.%d", i),
					"The overlay selects pools by the label %s, which %s can change in place: after such a change, the overlay "+
						"applies to other pools. Select the pool by karpenter.sh/nodepool, or remove the label from in_place.",
					r.Key, c.pools[at].object.Addr)
			}
		}
	}
}

// clash reports whether two overlays set the same field, even to the same value: Karpenter does not compare values.
func clash(a, b overlay) bool {
	priced := func(o overlay) bool { return o.Spec.Price != nil || o.Spec.PriceAdjustment != nil }
	if priced(a) && priced(b) {
		return true
	}
	for name := range a.Spec.Capacity {
		if _, ok := b.Spec.Capacity[name]; ok {
			return true
		}
	}
	return false
}
