package lkesim

import (
	"fmt"
)

func (st *state) listTypes(q *request) (any, error) {
	var rows []typeView
	for _, p := range st.cfg.Catalog.Plans() {
		rows = append(rows, viewType(p))
	}
	return list(q, rows)
}

func (st *state) listRegions(q *request) (any, error) {
	var rows []regionView
	for _, r := range st.cfg.Catalog.Regions() {
		rows = append(rows, viewRegion(r))
	}
	return list(q, rows)
}

type availabilityView struct {
	Region    string `json:"region"`
	Plan      string `json:"plan"`
	Available bool   `json:"available"`
}

func (st *state) availability(region string) []availabilityView {
	rows := []availabilityView{}
	for _, row := range st.cfg.Catalog.Availability() {
		if region == "" || row.Region == region {
			rows = append(rows, availabilityView(row))
		}
	}
	return rows
}

func (st *state) listAvailability(q *request) (any, error) {
	return list(q, st.availability(""))
}

// regionAvailability is the one list of the API that comes bare, without pages.
func (st *state) regionAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	return st.availability(r.ID), nil
}

// getFirewall says that the account has a firewall of each number; of its rules nothing is simulated.
func (st *state) getFirewall(q *request) (any, error) {
	id := q.id("firewall")
	if id <= 0 {
		return nil, notFound()
	}
	return map[string]any{"id": id, "label": fmt.Sprintf("firewall-%d", id), "status": "enabled", "tags": []string{}}, nil
}
