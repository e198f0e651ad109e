package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// matchesNoPlan finds pools that can never have a node, and the requirement that excludes the last plan.
func matchesNoPlan(c *checker, p *pool) {
	if len(c.types) == 0 {
		return
	}
	if len(p.plans) > 0 || c.namesUnknown(p) || c.allowsUnknown(p) != "" {
		return
	}
	key, before := c.excluding(p)
	if c.unseen(p, key) {
		return
	}
	where := c.where()
	asked := fmt.Sprintf("the requirement on %s (%s)", short(key), p.spell(key))
	message := fmt.Sprintf("None of the %d plan types that are sold %s meets %s.", len(c.types), where, asked)
	if len(before) < len(c.types) {
		message = fmt.Sprintf("Of the %d plan types that are sold %s, the other requirements allow %s, and %s excludes these.",
			len(c.types), where, joined(names(before)), asked)
	}
	message += values(before, key)
	if why := c.set.WhyNothing(p.requirements); why != "" {
		message += " " + sentence(why)
	}
	if c.tier() == catalog.Enterprise &&
		instancetype.New(c.in.Catalog, c.in.Cluster.Region, catalog.EnterpriseGPU).OnlyGPUs(p.requirements) {
		message += " If Linode sells GPU plans to your account there, set gpu_plans = true in the cluster block."
	}
	c.report(p.object.Addr, p.requirementPath(key), "%s This pool never gets nodes.", message)
}

// allowsUnknown is why nothing is known to match a pool that allows plans without a price or a size; "" if it allows none, or
// requires a size that no plan has.
func (c *checker) allowsUnknown(p *pool) string {
	sizes := scheduling.NewRequirements()
	for _, key := range []string{linodev1alpha1.LabelInstanceCPU, linodev1alpha1.LabelInstanceMemory, linodev1alpha1.LabelInstanceDisk} {
		if p.requirements.Has(key) {
			sizes.Add(p.requirements.Get(key))
		}
	}
	exists := func(it *cloudprovider.InstanceType) bool { return it.Requirements.Intersects(sizes) == nil }
	if !slices.ContainsFunc(c.set.List(), exists) {
		return ""
	}
	return c.set.WhyNothing(p.requirements)
}

// namesUnknown finds pools that name plans which are not in the catalogue, or not with their price and size. It is unknown
// whether they match; unknown-plan and plan-without-price report them.
func (c *checker) namesUnknown(p *pool) bool {
	r := p.requirements.Get(corev1.LabelInstanceTypeStable)
	return r.Operator() == corev1.NodeSelectorOpIn && slices.ContainsFunc(r.Values(), func(id string) bool {
		plan, ok := c.in.Catalog.Plan(id)
		return !ok || c.sells(id) && lacks(c.in.Catalog, plan, c.in.Cluster.Region) != ""
	})
}

// unseen finds pools that require hardware that the region has and an old catalogue lacks. It is unknown whether they match.
func (c *checker) unseen(p *pool, key string) bool {
	hardware := []string{
		linodev1alpha1.LabelInstanceClass, linodev1alpha1.LabelInstanceGPUCount,
		linodev1alpha1.LabelInstanceGPUName, linodev1alpha1.LabelInstanceAcceleratedDevices,
	}
	if c.in.Current || !slices.Contains(hardware, key) {
		return false
	}
	region, _ := c.in.Catalog.Region(c.in.Cluster.Region)
	return slices.ContainsFunc([]string{"gpu", "accelerated"}, func(class string) bool {
		known := slices.ContainsFunc(c.in.Catalog.Plans(), func(plan catalog.Plan) bool { return plan.Class == class })
		return !known && region.Has(catalog.Plan{Class: class}.Gate()) &&
			p.requirements.Get(linodev1alpha1.LabelInstanceClass).Has(class)
	})
}

// excluding returns the requirement to report, and the plans that the others leave: a requirement that no plan meets, else one
// without which plans would be left, else the last one, in the order of labels, of those that together leave none.
func (c *checker) excluding(p *pool) (string, cloudprovider.InstanceTypes) {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(p.requirements)) {
		if karpv1.WellKnownLabels.Has(key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if len(allowed(c.types, scheduling.NewRequirements(p.requirements.Get(key)))) == 0 {
			return key, c.types
		}
	}
	var best string
	var most cloudprovider.InstanceTypes
	for _, key := range keys {
		others := maps.Clone(p.requirements)
		delete(others, key)
		if left := allowed(c.types, others); len(left) > len(most) {
			best, most = key, left
		}
	}
	if best != "" {
		return best, most
	}
	left := cloudprovider.InstanceTypes(c.types)
	for _, key := range keys {
		next := allowed(left, scheduling.NewRequirements(p.requirements.Get(key)))
		if len(next) == 0 {
			return key, left
		}
		left = next
	}
	return keys[len(keys)-1], left
}

// spell writes the requirement on a label for people.
func (p *pool) spell(key string) string {
	var parts []string
	for _, r := range p.Spec.Template.Spec.Requirements {
		if r.Key == key {
			parts = append(parts, words[r.Operator]+joined(slices.Sorted(slices.Values(r.Values))))
		}
	}
	if value, ok := p.Spec.Template.Labels[key]; ok {
		parts = append(parts, value)
	}
	return strings.Join(parts, " and ")
}

var words = map[corev1.NodeSelectorOperator]string{
	corev1.NodeSelectorOpNotIn:        "not ",
	corev1.NodeSelectorOpExists:       "any, not ",
	corev1.NodeSelectorOpDoesNotExist: "",
	corev1.NodeSelectorOpGt:           "more than ",
	corev1.NodeSelectorOpLt:           "less than ",
	karpv1.NodeSelectorOpGte:          "at least ",
	karpv1.NodeSelectorOpLte:          "at most ",
}

// values lists the values that plans have for a label, or the least and the most of many numbers.
func values(plans cloudprovider.InstanceTypes, key string) string {
	have := map[string]bool{}
	for _, it := range plans {
		for _, value := range it.Requirements.Get(key).Values() {
			have[value] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(have), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
	})
	unit := ""
	if key == linodev1alpha1.LabelInstanceMemory || key == linodev1alpha1.LabelInstanceDisk {
		unit = ` A number without a unit is in MiB: write "8Gi" for 8 GiB.`
	}
	_, err := strconv.Atoi(cmp.Or(append(all, "")...))
	switch numbers := err == nil; {
	case len(all) == 0, key == corev1.LabelInstanceTypeStable, len(all) > 8 && !numbers:
		return ""
	case len(all) > 8:
		return fmt.Sprintf(" The plan types have values of %s from %s to %s.%s", short(key), all[0], all[len(all)-1], unit)
	}
	return fmt.Sprintf(" The plan types have the following values of %s: %s.%s", short(key), strings.Join(all, ", "), unit)
}

func names(plans cloudprovider.InstanceTypes) (names []string) {
	for _, it := range plans {
		names = append(names, it.Name)
	}
	return names
}

// minValues finds requirements for more different values than there are.
func minValues(c *checker, p *pool) {
	if len(p.plans) == 0 || !p.requirements.HasMinValues() || c.set.WhyNothing(p.requirements) != "" {
		return
	}
	_, missing, _ := p.plans.SatisfiesMinValues(p.requirements)
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		c.report(p.object.Addr, p.requirementPath(key),
			"%d different values of %s are required, but the plan types that the pool allows (%s) have %d. This pool never "+
				"gets nodes. Lower the number, or allow more plan types.",
			*p.requirements.Get(key).MinValues(), short(key), joined(names(p.plans)), missing[key])
	}
}

// limitsBelowPlan finds limits of pools and limits blocks that are too low for the first node.
func limitsBelowPlan(c *checker) {
	var all cloudprovider.InstanceTypes
	of := map[string]cloudprovider.InstanceTypes{}
	for _, p := range c.pools {
		c.limitBelowPlan(p)
		of[p.Name], all = p.plans, append(all, p.plans...)
	}
	for object, limit := range typed[lkeplanv1alpha1.CapacityLimit](c, schemas.Limits.Object.Kind) {
		plans := all
		if len(limit.Spec.NodePools) > 0 {
			plans = nil
			for _, name := range limit.Spec.NodePools {
				plans = append(plans, of[name]...)
			}
		}
		c.limitsBlock(object, limit.Spec, plans)
	}
}

// limitsBlock checks a limits block with the plan types of its pools.
func (c *checker) limitsBlock(object config.Object, spec lkeplanv1alpha1.CapacityLimitSpec, plans cloudprovider.InstanceTypes) {
	const none = "None of its pools gets nodes. "
	if spec.Nodes != nil && *spec.Nodes == 0 {
		c.report(object.Addr, "spec.nodes", "The limit is zero. "+none+"Raise the limit. To disable a pool, write enabled = false.")
	}
	for _, limit := range []struct {
		name   corev1.ResourceName
		amount *resource.Quantity
	}{{corev1.ResourceCPU, spec.CPU}, {corev1.ResourceMemory, spec.Memory}} {
		least, ok := smallest(plans, limit.name)
		if !ok || limit.amount == nil {
			continue
		}
		if have := least.Capacity[limit.name]; limit.amount.Cmp(have) < 0 {
			c.report(object.Addr, "spec."+string(limit.name), "The smallest plan type that its pools allow, %s, has %s, which is more than "+
				"the limit of %s. "+none+"Raise the limit, or allow smaller plan types.",
				least.Name, instancetype.AmountOf(limit.name, have), limit.amount)
		}
	}
	if spec.MonthlyCost == nil || len(plans) == 0 {
		return
	}
	price := func(it *cloudprovider.InstanceType) catalog.Money {
		known, _ := c.in.Catalog.Price(it.Name, c.in.Cluster.Region)
		return known.PerMonth()
	}
	cheapest := slices.MinFunc(plans, func(a, b *cloudprovider.InstanceType) int { return cmp.Compare(price(a), price(b)) })
	if most, err := catalog.ParseMoney(*spec.MonthlyCost); err == nil && most < price(cheapest) {
		c.report(object.Addr, "spec.monthlyCost", "The cheapest plan type that its pools allow, %s, costs $%s a month, which is more than "+
			"the limit of $%s. "+none+"Raise the limit.", cheapest.Name, price(cheapest), most)
	}
}

// limitBelowPlan finds limits of a pool that are too low for the first node.
func (c *checker) limitBelowPlan(p *pool) {
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Limits)) {
		limit := p.Spec.Limits[name]
		if limit.Sign() < 0 {
			continue // negative-limit
		}
		if name == "nodes" {
			if limit.IsZero() && !p.static() {
				c.report(p.object.Addr, "spec.limits.nodes",
					"The limit is zero, so this pool never gets nodes. To disable a pool, "+
						"write enabled = false.")
			}
			continue
		}
		least, ok := smallest(p.plans, name)
		if !ok {
			continue
		}
		if have := least.Capacity[name]; limit.Cmp(have) < 0 {
			c.report(p.object.Addr, "spec.limits."+string(name),
				"The smallest plan type that the pool allows, %s, has %s, which is more than the limit of %s. This pool never "+
					"gets nodes. Raise the limit, or allow smaller plan types.",
				least.Name, instancetype.AmountOf(name, have), limit.String())
		}
	}
}

// blocksARoll finds limits that allow only one node: it cannot be replaced, because the replacement is created first. It
// ignores limits on the number of nodes, which Karpenter may exceed temporarily if pools are not static.
func blocksARoll(c *checker, p *pool) {
	if p.static() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Limits)) {
		least, ok := smallest(p.plans, name)
		if name == "nodes" || !ok {
			continue
		}
		limit, have := p.Spec.Limits[name], least.Capacity[name]
		twice := have.DeepCopy()
		twice.Add(have)
		if limit.Cmp(have) >= 0 && limit.Cmp(twice) < 0 && have.Sign() > 0 {
			c.report(p.object.Addr, "spec.limits."+string(name),
				"The limit of %[3]s allows only one node: the smallest plan type that the pool allows, %[1]s, has %[2]s. "+
					"Karpenter creates a replacement before it removes a node, and the limit forbids that, so a change of the "+
					"pool never reaches its node. Raise the limit to at least %[4]s, the size of two such nodes.",
				least.Name, instancetype.AmountOf(name, have), limit.String(), instancetype.AmountOf(name, twice))
		}
	}
}

// largePlan is the number of vCPUs from which a plan must be required explicitly: it costs about $580 a month.
const largePlan = 32

// uncapped finds pools that may buy the largest plans without an explicit requirement: Karpenter prefers one large node to
// several small ones.
func uncapped(c *checker, p *pool) {
	if p.static() || capped(p) {
		return
	}
	fit := slices.DeleteFunc(slices.Clone(p.plans), func(t *cloudprovider.InstanceType) bool {
		for name, limit := range p.Spec.Limits {
			if size, ok := t.Capacity[name]; ok && limit.Cmp(size) < 0 {
				return true
			}
		}
		return false
	})
	if len(fit) == 0 {
		return
	}
	dearest := fit[len(fit)-1]
	if cpus := dearest.Capacity[corev1.ResourceCPU]; cpus.CmpInt64(largePlan) < 0 {
		return
	}
	price, _ := c.in.Catalog.Price(dearest.Name, c.in.Cluster.Region)
	c.report(p.object.Addr, "spec.template.spec.requirements",
		"The requirements do not limit the size of nodes, so the pool may buy nodes up to %s, for $%s a month each, when "+
			"many pods are pending. One large node is harder to fill and to drain than several small ones. Add a maximum, "+
			"such as cpu = lte(16).",
		dearest.Name, price.PerMonth())
}

// capped reports whether the requirements mention the size of plans.
func capped(p *pool) bool {
	for _, r := range p.Spec.Template.Spec.Requirements {
		switch r.Key {
		case linodev1alpha1.LabelInstanceCPU, linodev1alpha1.LabelInstanceMemory, linodev1alpha1.LabelInstanceDisk:
			if r.Operator != corev1.NodeSelectorOpExists && r.Operator != corev1.NodeSelectorOpGt &&
				r.Operator != karpv1.NodeSelectorOpGte {
				return true
			}
		case corev1.LabelInstanceTypeStable, linodev1alpha1.LabelInstanceGPUCount:
			if r.Operator == corev1.NodeSelectorOpIn {
				return true
			}
		}
	}
	return false
}
