package catalog

import (
	"encoding/csv"
	"io"
)

// WriteOpenCost writes the hourly price of each plan in each region that runs clusters, as the CSV file that
// OpenCost's CSV provider reads (opencost, pkg/cloud/provider/csvprovider.go). It finds the plan of a node by its
// labels for the region and the instance type. Plans without a known price have no row, and are returned: OpenCost
// has no price for their nodes.
func (c *Catalog) WriteOpenCost(w io.Writer) (unpriced []string, err error) {
	out := csv.NewWriter(w)
	out.Write([]string{"EndTimestamp", "InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType",
		"MarketPriceHourly", "Version"})
	for _, p := range c.plans {
		known := false
		for _, r := range c.regions {
			if !c.Sold(p.ID, r.ID, Instances) && !c.Sold(p.ID, r.ID, EnterpriseGPU) {
				continue
			}
			price, ok := c.Price(p.ID, r.ID)
			known = known || ok
			if !ok {
				continue
			}
			out.Write([]string{"", p.ID, r.ID, "node", "metadata.labels.node.kubernetes.io/instance-type", p.ID,
				price.Hourly.String(), ""})
		}
		if !known && p.Class != "nanode" {
			unpriced = append(unpriced, p.ID)
		}
	}
	out.Flush()
	return unpriced, out.Error()
}
