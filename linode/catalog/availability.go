package catalog

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// FetchAvailability reads what one region says of the limited plans from the public endpoint
// GET /v4/regions/{region}/availability under baseURL. It is one small answer, fit to be asked for every few minutes.
func FetchAvailability(ctx context.Context, client *http.Client, baseURL, region string) ([]Availability, error) {
	f := fetcher{client: client, base: strings.TrimRight(baseURL, "/")}
	var rows []Availability
	if err := f.get(ctx, f.base+"/v4/regions/"+url.PathEscape(region)+"/availability", &rows); err != nil {
		return nil, err
	}
	for i, row := range rows {
		if row.Region == "" { // the API leaves it out here now and then
			rows[i].Region = region
		} else if row.Region != region {
			return nil, fmt.Errorf("availability of region %q: a row names region %.40q", region, row.Region)
		}
	}
	return rows, nil
}

// InStock says whether the plan can be had in the region, as far as the availability rows say: a plan without a row is
// available. A plan that is not in stock is still sold: the rows are about a moment, and only an attempt shows.
func (c *Catalog) InStock(plan, region string) bool {
	available, listed := c.limited[plan][region]
	return available || !listed
}
