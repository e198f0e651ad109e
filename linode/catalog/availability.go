package catalog

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// FetchAvailability reads the availability of limited plans in one region from the public endpoint GET
// /v4/regions/{region}/availability under baseURL. The answer is small enough to request it every few minutes.
func FetchAvailability(ctx context.Context, client *http.Client, baseURL, region string) ([]Availability, error) {
	f := fetcher{client: client, base: strings.TrimRight(baseURL, "/")}
	var rows []Availability
	if err := f.get(ctx, f.base+"/v4/regions/"+url.PathEscape(region)+"/availability", &rows); err != nil {
		return nil, err
	}
	for i, row := range rows {
		if row.Region == "" { // the API sometimes leaves it out here
			rows[i].Region = region
		} else if row.Region != region {
			return nil, fmt.Errorf("availability of region %q: a row names region %.40q", region, row.Region)
		}
	}
	return rows, nil
}

// InStock reports whether the plan is in stock in the region, according to the availability rows: a plan
// without a row is available. A plan that is out of stock is still sold: the rows describe one moment, and
// only an attempt shows the current stock.
func (c *Catalog) InStock(plan, region string) bool {
	available, listed := c.limited[plan][region]
	return available || !listed
}
