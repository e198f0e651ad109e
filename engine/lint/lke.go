package lint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/mode"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// mode is the way in which the cluster gets machines.
func (c *checker) mode() mode.Mode { return mode.Of(catalog.Tier(c.in.Cluster.Tier)) }

// where is where plans are sold: in us-ord for the standard tier.
func (c *checker) where() string {
	if c.in.Cluster.Instances() {
		return "in " + c.in.Cluster.Region
	}
	return fmt.Sprintf("in %s for the %s tier", c.in.Cluster.Region, c.in.Cluster.Tier)
}

// Limits of LKE, from the Linode API's specification and Cloud Manager.
const (
	maxStandardNodes = 250 // in a cluster of the standard tier
	maxPoolNodes     = 500 // in a pool of the Enterprise tier
)

// region checks the cluster block.
func region(c *checker) {
	cluster := c.in.Cluster
	if c.in.Catalog == nil || cluster.Region == "" {
		return
	}
	if _, ok := c.in.Catalog.Region(cluster.Region); ok {
		return
	}
	var ids []string
	for _, r := range c.in.Catalog.Regions() {
		ids = append(ids, r.ID)
	}
	c.report(config.Addr{}, "region", "The price catalogue%s has no region %q.%s If the region is new, run \"lkeplan "+
		"catalog refresh\" to update the catalogue.", c.in.Catalog.Age(), cluster.Region, eval.DidYouMean(cluster.Region, ids))
}

// refresh says what to do if the catalogue may be outdated.
const refresh = " If the catalogue is outdated, run \"lkeplan catalog refresh\" to update it."

// tier finds regions without clusters of the tier.
func tier(c *checker) {
	cluster := c.in.Cluster
	if c.in.Catalog == nil || cluster.Region == "" {
		return
	}
	r, ok := c.in.Catalog.Region(cluster.Region)
	tier := catalog.Tier(cluster.Tier)
	if !ok || r.Has(tier.Capability()) {
		return
	}
	var others []string
	for _, other := range c.in.Catalog.Regions() {
		if other.Has(tier.Capability()) {
			others = append(others, other.ID)
		}
	}
	argument, what := "region", fmt.Sprintf("LKE clusters of the %s tier", tier)
	switch tier {
	case catalog.Enterprise:
		argument = "tier"
	case catalog.Instances:
		what = "Linodes"
	}
	c.report(config.Addr{}, argument, "The region %s (%s) has no %s, according to the price catalogue%s. Regions that have them: %s.%s",
		r.ID, r.Label, what, c.in.Catalog.Age(), joined(others), refresh)
}

// classes runs the provider's check of each class.
func classes(c *checker) {
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		problem := c.mode().ClassProblem(class.Spec)
		if path, detail, ok := strings.Cut(problem, ": "); ok {
			c.report(object.Addr, path, "%s", sentence(detail))
		}
	}
}

// sentence turns the message of a condition into a sentence.
func sentence(text string) string {
	if text[0] >= 'a' && text[0] <= 'z' {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}

// poolLabels runs the provider's check of labels and taints. Keys that the provider does not send are set on the Node by
// Karpenter.
func poolLabels(c *checker, p *pool) {
	for _, problem := range c.mode().PoolProblems(p.NodePool) {
		c.report(p.object.Addr, problem.Path, "%s", problem.Text)
	}
}

// counts adds up the nodes of static pools.
func counts(c *checker) {
	if c.in.Cluster.Instances() {
		return // only Linode knows the limits of an account
	}
	enterprise := catalog.Tier(c.in.Cluster.Tier) == catalog.Enterprise
	var sum int64
	for _, p := range c.pools {
		if !p.static() {
			continue
		}
		n := *p.Spec.Replicas
		switch sum += n; {
		case enterprise && n > maxPoolNodes:
			c.report(p.object.Addr, "spec.replicas",
				"LKE Enterprise allows %d nodes in a pool, and this pool has %d. Divide them among several pools.",
				maxPoolNodes, n)
		case !enterprise && n > maxStandardNodes:
			c.report(p.object.Addr, "spec.replicas",
				"A standard LKE cluster allows %d nodes, and this pool has %d.", maxStandardNodes, n)
		case !enterprise && sum > maxStandardNodes && sum-n <= maxStandardNodes:
			c.report(p.object.Addr, "spec.replicas",
				"A standard LKE cluster allows %d nodes. Together with other pools, this pool requires %d.",
				maxStandardNodes, sum)
		}
	}
}

// unreachable finds node limits above that of LKE.
func unreachable(c *checker, p *pool) {
	cluster := c.in.Cluster
	if catalog.Tier(cluster.Tier) == catalog.Enterprise || cluster.Instances() || cluster.Name == "" {
		return
	}
	if limit, ok := p.Spec.Limits["nodes"]; ok && limit.CmpInt64(maxStandardNodes) > 0 {
		c.report(p.object.Addr, "spec.limits.nodes",
			"A standard LKE cluster allows %[1]d nodes, so the pool never reaches its limit of %[2]s: LKE refuses the next "+
				"node first. Write %[1]d or less.", maxStandardNodes, limit.String())
	}
}

// unknownPlans finds named plans that are not in the catalogue.
func unknownPlans(c *checker) {
	if c.in.Catalog == nil {
		return
	}
	var ids []string
	for _, plan := range c.in.Catalog.Plans() {
		ids = append(ids, plan.ID)
	}
	c.namedPlans(func(p *pool, path, id string) {
		if _, ok := c.in.Catalog.Plan(id); !ok {
			never := "" // unless the pool allows others
			if len(p.plans) == 0 {
				never = " This pool never gets nodes."
			}
			c.report(p.object.Addr, path, "The price catalogue%[2]s has no plan type %[1]q.%[5]s%[3]s%[4]s",
				id, c.in.Catalog.Age(), nearest(id, ids), refresh, never)
		}
	})
}

// nearest suggests the plan types of the same family with the next smaller and larger number, or else a similar id.
func nearest(id string, ids []string) string {
	parts := func(id string) (family string, number int) {
		at := strings.LastIndex(id, "-") + 1
		number, _ = strconv.Atoi(id[at:])
		return id[:at], number
	}
	family, number := parts(id)
	var below, above string
	most, least := 0, math.MaxInt
	for _, other := range ids {
		switch of, n := parts(other); {
		case of != family || n == 0 || number == 0:
		case n < number && n > most:
			below, most = other, n
		case n > number && n < least:
			above, least = other, n
		}
	}
	switch near := slices.DeleteFunc([]string{below, above}, func(s string) bool { return s == "" }); {
	case len(near) > 0:
		return " Did you mean " + diag.AnyOf(near) + "?"
	}
	return eval.DidYouMean(id, ids)
}

// withoutPrice finds named plans that are sold, but whose price or size is not in the catalogue.
func withoutPrice(c *checker) {
	if len(c.types) == 0 {
		return
	}
	region := c.in.Cluster.Region
	c.namedPlans(func(p *pool, path, id string) {
		plan, ok := c.in.Catalog.Plan(id)
		lacks := lacks(c.in.Catalog, plan, region)
		if !ok || lacks == "" || !c.sells(id) {
			return
		}
		c.report(p.object.Addr, path, "Linode sells the plan type %s, but the price catalogue%s (%s) does not have its %s. "+
			"Costs and simulations leave the plan type out. To update the catalogue, run \"lkeplan catalog refresh\".",
			id, c.in.Catalog.Age(), cmp.Or(plan.From, c.in.Catalog.Source()), lacks)
	})
	for _, p := range c.pools {
		if len(p.plans) > 0 || c.namesUnknown(p) {
			continue
		}
		if why := c.allowsUnknown(p); why != "" {
			c.report(p.object.Addr, "spec.template.spec.requirements", "Only plan types with an unknown size or "+
				"price match: %s. Costs and simulations leave this pool out. To update the catalogue, run \"lkeplan catalog "+
				"refresh\".", why)
		}
	}
}

// outOfStock finds named plans that were out of stock in the region when the catalogue was created.
func outOfStock(c *checker) {
	region := c.in.Cluster.Region
	if len(c.types) == 0 {
		return
	}
	c.namedPlans(func(p *pool, path, id string) {
		if c.sells(id) && !c.in.Catalog.InStock(id, region) {
			c.report(p.object.Addr, path, "The plan type %s was out of stock in %s, according to the price "+
				"catalogue%s. The controller still tries it. While Linode has none, the controller uses the next plan type "+
				"that the pool allows, or waits.", id, region, c.in.Catalog.Age())
		}
	})
}

// needsCapability finds pools all of whose plans require an account capability.
func needsCapability(c *checker, p *pool) {
	needed := ""
	for _, it := range p.plans {
		plan, _ := c.in.Catalog.Plan(it.Name)
		if needed = plan.OfAccount(); needed == "" {
			return
		}
	}
	if needed != "" {
		c.report(p.object.Addr, p.requirementPath(linodev1alpha1.LabelInstanceClass),
			"All plan types that the pool allows (%s) require the account capability %q. The controller uses them only if "+
				"your Linode account has the capability, which is not checked here.", joined(names(p.plans)), needed)
	}
}

// lacks names what a catalogue lacks about a plan, price or size; "" if nothing.
func lacks(facts *catalog.Catalog, plan catalog.Plan, region string) string {
	if !plan.Sized() {
		return "size"
	}
	if _, known := facts.Price(plan.ID, region); !known {
		return "price"
	}
	return ""
}

// notSold finds named plans that are not sold in the cluster's region. Another rule reports pools that are left without a plan.
func notSold(c *checker) {
	if len(c.types) == 0 {
		return
	}
	cluster := c.in.Cluster
	c.namedPlans(func(p *pool, path, id string) {
		plan, ok := c.in.Catalog.Plan(id)
		if !ok || len(p.plans) == 0 || c.sells(id) {
			return
		}
		whose := "" // of LKE
		if !cluster.Instances() {
			whose = fmt.Sprintf("for %s clusters ", cluster.Tier)
		}
		c.report(p.object.Addr, path, "The plan type %s (%s) is not sold %sin %s, according to the price catalogue%s.%s",
			id, plan.Label, whose, cluster.Region, c.in.Catalog.Age(), refresh)
	})
}

// retiredPlans finds plans that have a successor.
func retiredPlans(c *checker) {
	if c.in.Catalog == nil {
		return
	}
	c.namedPlans(func(p *pool, path, id string) {
		if plan, ok := c.in.Catalog.Plan(id); ok && plan.Successor != "" {
			c.report(p.object.Addr, path,
				"Linode is replacing the plan type %[1]s with %[2]s. Existing nodes keep running, but Linode may soon stop "+
					"selling %[1]s. Allow %[2]s as well.", id, plan.Successor)
		}
	})
}

// namedPlans calls f for each plan that a pool names.
func (c *checker) namedPlans(f func(p *pool, path, id string)) {
	for _, p := range c.pools {
		for i, r := range p.Spec.Template.Spec.Requirements {
			if r.Key != corev1.LabelInstanceTypeStable || r.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			for j, id := range slices.Sorted(slices.Values(r.Values)) {
				f(p, fmt.Sprintf("spec.template.spec.requirements.%d.values.%d", i, j), id)
			}
		}
	}
}
