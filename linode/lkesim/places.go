package lkesim

import (
	"slices"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (st *state) listTypes(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Plans(), viewType)
}

func (st *state) listRegions(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Regions(), viewRegion)
}

func (st *state) listAvailability(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Availability(), asIs)
}

// regionAvailability is the one list of the API that comes bare, without pages.
func (st *state) regionAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	elsewhere := func(row catalog.Availability) bool { return row.Region != r.ID }
	return append([]catalog.Availability{}, slices.DeleteFunc(st.cfg.Catalog.Availability(), elsewhere)...), nil
}
