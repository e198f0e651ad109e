package catalog

import (
	"encoding/json"
	"fmt"
)

// typeJSON is one row of GET /linode/types. Prices stay text until they are [Money]: a float would lose the cents.
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
	Price        priceJSON         `json:"price"`
	RegionPrices []regionPriceJSON `json:"region_prices"`
}

type priceJSON struct {
	Hourly  json.Number `json:"hourly"`
	Monthly json.Number `json:"monthly"`
}

type regionPriceJSON struct {
	ID string `json:"id"`
	priceJSON
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
		p, err := t.plan()
		if err != nil {
			return nil, fmt.Errorf("plan %q: %w", t.ID, err)
		}
		plans = append(plans, p)
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

func (t typeJSON) plan() (Plan, error) {
	price, err := t.Price.price()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		ID: t.ID, Label: t.Label, Class: t.Class, VCPUs: t.VCPUs, MemoryMiB: t.Memory, DiskMiB: t.Disk,
		TransferGB: t.Transfer, NetworkOutMbps: t.NetworkOut, GPUs: t.GPUs, AcceleratedDevices: t.Accelerated,
		Price: price, RegionPrices: map[string]Price{},
	}
	if t.Successor != nil {
		p.Successor = *t.Successor
	}
	for _, own := range t.RegionPrices {
		if p.RegionPrices[own.ID], err = own.price(); err != nil {
			return Plan{}, fmt.Errorf("region %q: %w", own.ID, err)
		}
	}
	return p, nil
}

// price reads numbers and, as JSON allows null for both, nothing.
func (p priceJSON) price() (Price, error) {
	hourly, err := ParseMoney(orZero(p.Hourly))
	if err != nil {
		return Price{}, fmt.Errorf("hourly price: %w", err)
	}
	monthly, err := ParseMoney(orZero(p.Monthly))
	if err != nil {
		return Price{}, fmt.Errorf("monthly price: %w", err)
	}
	return Price{Hourly: hourly, Monthly: monthly}, nil
}

func orZero(n json.Number) string {
	if n == "" {
		return "0"
	}
	return n.String()
}
