package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Plan is one row of GET /linode/types. Its size must not be derived from the id: the number in it is the number of
// vCPUs for most plans, but g7-highmem-1 has two, and newer generations name the memory first.
type Plan struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Class string `json:"class"` // nanode, standard, dedicated, premium, gpu, highmem, accelerated

	VCPUs              int `json:"vcpus"`
	MemoryMiB          int `json:"memory"`
	DiskMiB            int `json:"disk"`
	TransferGB         int `json:"transfer"`
	NetworkOutMbps     int `json:"network_out"`
	GPUs               int `json:"gpus"`
	AcceleratedDevices int `json:"accelerated_devices"`

	// Price is the list price; RegionPrices has the regions with another one. [Catalog.Price] considers both.
	Price        Price        `json:"price"`
	RegionPrices RegionPrices `json:"region_prices"`

	// Successor is the plan that replaces this one; "" if there is none.
	Successor string `json:"successor"`

	// From is the source, with its date, of a row that the catalog's own source does not have. In such a row, a
	// size of zero means unknown.
	From string `json:"-"`
}

// Sized reports whether the size of a node of the plan is known, as far as pods need it. A plan without a size is on
// the price list by its id only.
func (p Plan) Sized() bool { return p.VCPUs > 0 && p.MemoryMiB > 0 }

// Volumes returns how many volumes a node of the plan can attach, as Linode's CSI driver says on its CSINode: one
// for each GiB of memory, from 8 to 64, less the disks that the machine has.
//
// Unverified: that a node of LKE has one disk.
func (p Plan) Volumes() int {
	const least, most, disks = 8, 64, 1
	return min(max(p.MemoryMiB/1024, least), most) - disks
}

// Region is one row of GET /regions.
type Region struct {
	ID       string `json:"id"`
	Label    string `json:"label"`
	Country  string `json:"country"`   // ISO 3166, lower case
	Status   string `json:"status"`    // "ok" or "outage"
	SiteType string `json:"site_type"` // "core" or "distributed"
	// Capabilities are sorted; see [Region.Has].
	Capabilities []string `json:"capabilities"`
}

// Capabilities of a region that this project asks for, as GET /regions spells them.
const (
	CapLinodes              = "Linodes"
	CapKubernetes           = "Kubernetes"
	CapKubernetesEnterprise = "Kubernetes Enterprise"
	CapPremium              = "Premium Plans"
	CapGPU                  = "GPU Linodes"
	CapAccelerated          = "NETINT Quadra T1U"
)

// Has reports whether the region has a capability, spelt as the API spells it.
func (r Region) Has(capability string) bool {
	_, ok := slices.BinarySearch(r.Capabilities, capability)
	return ok
}

var generation = regexp.MustCompile(`^g([0-9]+)-`)

// Generation returns the number of the plan's hardware generation ("6" for g6-standard-2); "" if the id names
// none.
func (p Plan) Generation() string {
	if m := generation.FindStringSubmatch(p.ID); m != nil {
		return m[1]
	}
	return ""
}

// gpuNames maps what follows "gpu-" in a plan's id to the name of the card. rtx6000 is in the recorded price list;
// the others are from the price list on Linode's site and the availability rows, which spell rtx4000a both in
// g1-gpu-rtx4000a-1 and in g2-gpu-rtx4000a1-s.
var gpuNames = []struct{ prefix, name string }{
	{"rtx6000", "rtx6000"},
	{"rtx4000a", "rtx4000_ada"},
	{"rtxpro6000-blackwell", "rtxpro6000_blackwell"},
}

// GPUName names the plan's graphics card in one word that is valid in a label value; "" for a plan without one. A
// card that is newer than this table has the name in the plan's id.
func (p Plan) GPUName() string {
	_, rest, ok := strings.Cut(p.ID, "-gpu-")
	if !ok || p.GPUs == 0 {
		return ""
	}
	for _, g := range gpuNames {
		if strings.HasPrefix(rest, g.prefix) {
			return g.name
		}
	}
	name, _, _ := strings.Cut(rest, "-")
	return name
}

// Gate returns the capability that a region needs to sell plans of this class. Shared, dedicated and high-memory
// plans need only Linodes.
func (p Plan) Gate() string {
	switch p.Class {
	case "premium":
		return CapPremium
	case "gpu":
		return CapGPU
	case "accelerated":
		return CapAccelerated
	default:
		return CapLinodes
	}
}

// OfAccount returns the capability that an account must have to be sold the plan; "" for most plans.
func (p Plan) OfAccount() string {
	if p.Class == "accelerated" {
		return CapAccelerated
	}
	return ""
}

// normal returns a copy of a plan that shares nothing with the caller, with its lists sorted and one form for each
// meaning.
func (p Plan) normal() Plan {
	p.Price = p.Price.normal()
	p.RegionPrices = maps.Clone(p.RegionPrices)
	for region, price := range p.RegionPrices {
		p.RegionPrices[region] = price.normal()
	}
	if len(p.RegionPrices) == 0 {
		p.RegionPrices = nil
	}
	return p
}

func (r Region) normal() Region {
	r.Capabilities = slices.DeleteFunc(slices.Clone(r.Capabilities), func(s string) bool { return s == "" })
	slices.Sort(r.Capabilities)
	r.Capabilities = slices.Compact(r.Capabilities)
	if len(r.Capabilities) == 0 {
		r.Capabilities = nil
	}
	return r
}
