package lkesim

func (st *state) listInstances(q *request) (any, error) {
	var rows []Instance
	for _, i := range st.byID() {
		rows = append(rows, i.view(q.now))
	}
	// Which fields can be filtered on is from the API's documentation; status and lke_cluster_id are not among them.
	return list(q, rows, map[string]func(Instance) any{
		"id":     func(i Instance) any { return i.ID },
		"label":  func(i Instance) any { return i.Label },
		"group":  func(i Instance) any { return i.Group },
		"type":   func(i Instance) any { return i.Type },
		"region": func(i Instance) any { return i.Region },
		"tags":   func(i Instance) any { return i.Tags },
		"image":  func(i Instance) any { return value(i.Image) },
		"ipv4":   func(i Instance) any { return i.IPv4 },
	})
}

func (st *state) getInstance(q *request) (any, error) {
	i, err := st.instance(q)
	if err != nil {
		return nil, err
	}
	return i.view(q.now), nil
}

func (st *state) updateInstance(q *request) (any, error) {
	i, err := st.instance(q)
	if err != nil {
		return nil, err
	}
	var c checker
	tags := take[[]string](&c, q.fields, "tags")
	label := take[string](&c, q.fields, "label")
	checkTags(&c, value(tags))
	c.must(label == nil || (len(*label) >= 3 && len(*label) <= 64), "label", "Length must be 3-64 characters")
	if err := c.err(); err != nil {
		return nil, err
	}
	if tags != nil {
		i.tags = sorted(*tags)
	}
	set(&i.label, label)
	i.updated = q.now
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
