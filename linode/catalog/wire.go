package catalog

import "fmt"

// typeJSON is one row of GET /linode/types.
type typeJSON struct {
	ID           string            `json:"id"`
	Label        string            `json:"label"`
	Class        string            `json:"class"`
	VCPUs        int               `json:"vcpus"`
	Memory       int               `json:"memory"`
	Disk         int               `json:"disk"`
	Transfer     int               `json:"transfer"`
	NetworkOut   int               `json:"network_out"`
	GPUs         int               `json:"gpus"`
	Accelerated  int               `json:"accelerated_devices"`
	Successor    *string           `json:"successor"`
	Price        Price             `json:"price"`
	RegionPrices []regionPriceJSON `json:"region_prices"`
}

type regionPriceJSON struct {
	ID string `json:"id"`
	Price
}

type regionJSON struct {
	ID           string   `json:"id"`
	Label        string   `json:"label"`
	Country      string   `json:"country"`
	Status       string   `json:"status"`
	SiteType     string   `json:"site_type"`
	Capabilities []string `json:"capabilities"`
}

type availabilityJSON struct {
	Region    string `json:"region"`
	Plan      string `json:"plan"`
	Available bool   `json:"available"`
}

func assemble(date, source string, types []typeJSON, regions []regionJSON, rows []availabilityJSON) (*Catalog, error) {
	if len(types) == 0 || len(regions) == 0 {
		return nil, fmt.Errorf("%d plans and %d regions: not a price list", len(types), len(regions))
	}
	plans := make([]Plan, 0, len(types))
	for _, t := range types {
		plans = append(plans, t.plan())
	}
	places := make([]Region, 0, len(regions))
	for _, r := range regions {
		places = append(places, Region(r))
	}
	limits := make([]Availability, 0, len(rows))
	for _, row := range rows {
		limits = append(limits, Availability(row))
	}
	return New(date, source, plans, places, limits)
}

func (t typeJSON) plan() Plan {
	p := Plan{
		ID: t.ID, Label: t.Label, Class: t.Class, VCPUs: t.VCPUs, MemoryMiB: t.Memory, DiskMiB: t.Disk,
		TransferGB: t.Transfer, NetworkOutMbps: t.NetworkOut, GPUs: t.GPUs, AcceleratedDevices: t.Accelerated,
		Price: t.Price, RegionPrices: map[string]Price{},
	}
	if t.Successor != nil {
		p.Successor = *t.Successor
	}
	for _, own := range t.RegionPrices {
		p.RegionPrices[own.ID] = own.Price
	}
	return p
}
