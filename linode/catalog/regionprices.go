package catalog

import (
	"encoding/json"
	"maps"
	"slices"
)

// RegionPrices are prices by region, which are a list in the API.
type RegionPrices map[string]Price

type regionPrice struct {
	ID string `json:"id"`
	Price
}

// MarshalJSON writes the list of the API, by region.
func (p RegionPrices) MarshalJSON() ([]byte, error) {
	rows := []regionPrice{}
	for _, id := range slices.Sorted(maps.Keys(p)) {
		rows = append(rows, regionPrice{id, p[id]})
	}
	return json.Marshal(rows)
}

// UnmarshalJSON reads the list of the API.
func (p *RegionPrices) UnmarshalJSON(data []byte) error {
	var rows []regionPrice
	if err := json.Unmarshal(data, &rows); err != nil {
		return err
	}
	*p = RegionPrices{}
	for _, row := range rows {
		(*p)[row.ID] = row.Price
	}
	return nil
}
