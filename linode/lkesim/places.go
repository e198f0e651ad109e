package lkesim

func (st *state) listTypes(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Plans(), viewType)
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
