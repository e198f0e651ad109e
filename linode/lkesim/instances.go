package lkesim

func (st *state) instance(q *request) *instance { return st.instances[q.id("instance")] }

func (st *state) listInstances(q *request) (any, error) {
	return list(q, byID(st.instances), func(i *instance) Instance { return i.view(q.now) })
}

func (st *state) getInstance(i *instance, q *request) (any, error) { return i.view(q.now), nil }

// removeInstance deletes a Linode behind LKE's back. LKE makes another for the slot; users have reported it.
func (st *state) removeInstance(i *instance, q *request) (any, error) {
	if i.slot.instance == i && !i.slot.gone {
		st.recycle(i.slot, q.now)
	} else {
		st.release(i, q.now)
	}
	return struct{}{}, nil
}
