package sim

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"
)

func (st *state) linode(q *request) *instance { return st.instances[q.id("instance")] }

// allInstances returns all Linodes of the account, by id.
func (st *state) allInstances(now time.Time) []Instance {
	return viewsOf(byID(st.instances), func(i *instance) Instance { return i.view(st.assets, now) })
}

// listInstances answers GET /linode/instances.
func (st *state) listInstances(q *request) (any, error) {
	if st.breaks("filter") && strings.Contains(q.http.Header.Get("X-Filter"), "+or") {
		return listPage(q, []Instance{})
	}
	return listPage(q, st.allInstances(q.now), "id", "label", "tags", "region", "image")
}

// getInstance answers GET /linode/instances/{instance}.
func (st *state) getInstance(i *instance, q *request) (any, error) {
	return i.view(st.assets, q.now), nil
}

// createInstance creates a Linode outside of pools. It checks the request first, then whether the label is taken,
// then room and stock; this order is an assumption.
func (st *state) createInstance(q *request) (any, error) {
	var spec LinodeSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	var c requestChecker
	spec.check(&c, st.cfg.Catalog, st.assets)
	for n := range c.errs {
		if st.breaks("group-full") && c.errs[n].Field == "placement_group.id" {
			c.errs[n].Field = ""
		}
	}
	if err := c.error(); err != nil {
		return nil, err
	}
	c.must(!st.labelled(spec.Label) || st.breaks("label-taken"), "label", duplicateLabel)
	if c.error() != nil {
		return nil, c.error()
	}
	if err := st.accountRoom(spec.Type, spec.Region, 1); err != nil {
		return nil, err
	}
	st.lastInstance++
	spec.Label = cmp.Or(spec.Label, fmt.Sprintf("linode%d", st.lastInstance)) // the label may be taken
	c.must(!st.labelled(spec.Label) || st.breaks("label-taken"), "label", duplicateLabel)
	if c.error() != nil {
		return nil, c.error()
	}
	made := st.makeLinode(spec, q.now)
	st.faults.applyTo(&made.Linode)
	st.faults.countMade(spec.Type, spec.Region, 1)
	return made.view(st.assets, q.now), nil
}

// updateInstance changes tags and label. A PUT replaces all tags, which was recorded for pools. The label of a
// pool's Linode is the name of its slot, and stays.
func (st *state) updateInstance(i *instance, q *request) (any, error) {
	var change struct {
		Label *string   `json:"label"`
		Tags  *[]string `json:"tags"`
	}
	if err := q.read(&change); err != nil {
		return nil, err
	}
	var c requestChecker
	checkTags(&c, ptr.Deref(change.Tags, nil))
	if label := ptr.Deref(change.Label, i.Label); label != i.Label {
		c.must(!st.labelled(label), "label", duplicateLabel)
	}
	if err := c.error(); err != nil {
		return nil, err
	}
	if i.slot == nil {
		setIfGiven(&i.Label, change.Label)
	}
	if change.Tags != nil {
		i.Tags = sortedTags(*change.Tags)
	}
	if i.slot == nil || change.Tags != nil {
		i.Updated = q.now
	}
	return i.view(st.assets, q.now), nil
}

// labelled reports whether a Linode of the account has a label.
func (st *state) labelled(label string) bool {
	for _, i := range st.instances {
		if i.Label == label {
			return true
		}
	}
	return false
}

// removeInstance deletes a Linode. If it is in a pool, LKE creates another one for the slot, as users have
// reported.
func (st *state) removeInstance(i *instance, q *request) (any, error) {
	if i.slot != nil && i.slot.instance == i && !i.slot.gone {
		st.recycle(i.slot, q.now)
	} else {
		st.release(i, q.now)
	}
	return struct{}{}, nil
}

// Linodes returns the Linodes of the account outside of LKE pools, by id, including those that are being deleted.
func (s *Simulator) Linodes() (all []Linode) {
	s.update(func(st *state, _ time.Time) {
		all = viewsOf(st.own(), func(i *instance) Linode { return i.Linode })
	})
	return all
}
