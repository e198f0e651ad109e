package lkesim

func (st *state) listInstances(q *request) (any, error) {
	var rows []Instance
	for _, i := range st.byID() {
		rows = append(rows, i.view(q.now))
	}
	return list(q, rows)
}

func (st *state) getInstance(q *request) (any, error) {
	i, err := st.instance(q)
	if err != nil {
		return nil, err
	}
	return i.view(q.now), nil
}

// removeInstance deletes a Linode behind LKE's back. LKE makes another for the slot; users have reported it.
func (st *state) removeInstance(q *request) (any, error) {
	i, err := st.instance(q)
	if err != nil {
		return nil, err
	}
	if i.slot.instance == i && !i.slot.gone {
		st.recycle(i.slot, q.now)
	} else {
		st.release(i, q.now)
	}
	return struct{}{}, nil
}

func (st *state) instance(q *request) (*instance, error) {
	if i := st.instances[q.id("instance")]; i != nil {
		return i, nil
	}
	return nil, notFound()
}
