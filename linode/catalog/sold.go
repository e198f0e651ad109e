package catalog

import (
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
)

// Tier is the kind of cluster that a plan is wanted for.
type Tier string

// The tiers of LKE, as the API spells them, and clusters that run on Linodes without LKE.
const (
	Standard   Tier = schemas.TierStandard
	Enterprise Tier = schemas.TierEnterprise
	Instances  Tier = schemas.ModeInstance
	// EnterpriseGPU is LKE Enterprise for an account that can buy plans with GPUs, according to its owners.
	EnterpriseGPU Tier = "enterprise with GPUs"
)

// LKE returns the tier as the API has it, without what its owners say about plans with GPUs.
func (t Tier) LKE() Tier {
	if t == EnterpriseGPU {
		return Enterprise
	}
	return t
}

// WithGPUs returns the tier for an account that can buy plans with GPUs. Only Enterprise needs this; other tiers
// sell them to all.
func (t Tier) WithGPUs(sold bool) Tier {
	if t == Enterprise && sold {
		return EnterpriseGPU
	}
	return t
}

// Capability returns the capability that a region needs to run clusters of the tier.
func (t Tier) Capability() string {
	switch t {
	case Enterprise, EnterpriseGPU:
		return CapKubernetesEnterprise
	case Instances:
		return CapLinodes
	}
	return CapKubernetes
}

// Sold reports whether a node of the plan can be made in the region, on a cluster of the tier:
//
//   - the plan is not a nanode (LKE takes none, Cloud Manager filters the class, and its 1 GB is no node anywhere),
//   - LKE takes the plan: no plan with an RTX 6000 or 512 GB, and on Enterprise no GPU plan unless the
//
// cluster block allows it,
//
//	  as Cloud Manager hides them there, and
//	- the region runs clusters of the tier and sells the plan's class.
//
// The existing provider takes the list of limited plans for a list of regions, and so sells nothing in eight of
// them. Sold is about what is on the price list: a plan that is sold can still be out of stock, see [Catalog.InStock].
func (c *Catalog) Sold(plan, region string, tier Tier) bool {
	p, ok := c.Plan(plan)
	if !ok || p.Class == "nanode" {
		return false
	}
	if tier != Instances && (strings.Contains(plan, "-gpu-rtx6000-") || p.MemoryMiB >= largestOfLKE) ||
		tier == Enterprise && p.Class == "gpu" {
		return false
	}
	r, ok := c.Region(region)
	return ok && r.Has(tier.Capability()) && r.Has(p.Gate())
}

// largestOfLKE is the memory, in MiB, from which on LKE accepts no plan: Linode's documents and Cloud Manager leave
// out the plans with 512 GB.
const largestOfLKE = 512 << 10

// Price returns the price of a plan in a region: the region's own price if it has one, or else the list price. It
// returns false if the price is unknown, as for a plan that the catalog does not have; a region that it does not
// have gets the list price.
func (c *Catalog) Price(plan, region string) (Price, bool) {
	p, ok := c.Plan(plan)
	if !ok {
		return Price{}, false
	}
	price := p.in(region)
	return price, price.Known()
}

func (p Plan) in(region string) Price {
	if own, ok := p.RegionPrices[region]; ok {
		return own
	}
	return p.Price
}
