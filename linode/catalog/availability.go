package catalog

import (
	"context"
	"fmt"
	"maps"
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
	for _, row := range rows {
		if row.Region != region {
			return nil, fmt.Errorf("availability of region %q: a row is of region %.40q", region, row.Region)
		}
	}
	return rows, nil
}

// WithAvailability is the catalog with newer rows of one region in place of what it had of that region. The rows are
// all that the region says: a limited plan that it does not name is not sold there.
func (c *Catalog) WithAvailability(region string, rows []Availability) *Catalog {
	next := *c
	next.limited = make(map[string]map[string]bool, len(c.limited))
	for plan, regions := range c.limited {
		next.limited[plan] = maps.Clone(regions)
		delete(next.limited[plan], region)
	}
	for _, row := range rows {
		next.limit(row)
	}
	return &next
}
