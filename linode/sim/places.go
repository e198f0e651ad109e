package sim

import (
	"slices"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// listTypes leaves out plans that the catalog has without their size: the API has none like that.
func (st *state) listTypes(q *request) (any, error) {
	plans := slices.DeleteFunc(st.cfg.Catalog.Plans(), func(p catalog.Plan) bool { return !p.Sized() })
	return list(q, plans, viewType)
}

// getAccount has of an account what says which plans it is sold.
func (st *state) getAccount(*request) (any, error) {
	return map[string]any{"company": "Example", "capabilities": append([]string{}, st.cfg.Capabilities...)}, nil
}

func (st *state) listRegions(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Regions(), viewRegion)
}

func (st *state) listAvailability(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Availability(), asIs)
}

// regionAvailability is the one list of the API that comes bare, without pages. Its rows were seen with a region and
// without; here they have none.
func (st *state) regionAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	rows := []map[string]any{}
	for _, row := range st.cfg.Catalog.Availability() {
		if row.Region == r.ID {
			rows = append(rows, map[string]any{"plan": row.Plan, "available": row.Available})
		}
	}
	return rows, nil
}
