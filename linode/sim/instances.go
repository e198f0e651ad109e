package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// linode is a Linode that a path names: one of an LKE pool's, or one that was made by itself.
type linode struct {
	slot *instance
	own  *Linode
}

func (st *state) linode(q *request) *linode {
	id := q.id("instance")
	found := linode{slot: st.instances[id], own: st.linodes[id]}
	if found == (linode{}) {
		return nil
	}
	return &found
}

func (l *linode) view(has *Assets, now time.Time) Instance {
	if l.own != nil {
		return viewOwn(l.own, has, now)
	}
	return l.slot.view(now)
}

// allInstances are all Linodes of the account, by id.
func (st *state) allInstances(now time.Time) []Instance {
	all := views(slices.Collect(maps.Values(st.instances)), func(i *instance) Instance { return i.view(now) })
	all = append(all, views(byID(st.linodes), func(l *Linode) Instance { return viewOwn(l, st.assets, now) })...)
	slices.SortFunc(all, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (st *state) listInstances(q *request) (any, error) {
	return filtered(q, st.allInstances(q.now), "id", "label", "tags", "region", "image")
}

func (st *state) getInstance(l *linode, q *request) (any, error) {
	return l.view(st.assets, q.now), nil
}

// createInstance makes a Linode that is in no pool. What is wrong with the request comes before a label that is taken,
// and that before room and stock: an assumption.
func (st *state) createInstance(q *request) (any, error) {
	var spec LinodeSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	var c checker
	spec.check(&c, st.cfg.Catalog, st.assets)
	if err := c.err(); err != nil {
		return nil, err
	}
	if c.must(!st.labelled(spec.Label), "label", duplicateLabel); c.err() != nil {
		return nil, c.err()
	}
	if err := st.accountRoom(spec.Type, spec.Region, 1); err != nil {
		return nil, err
	}
	st.lastInstance++
	spec.Label = cmp.Or(spec.Label, fmt.Sprintf("linode%d", st.lastInstance)) // which may be taken
	if c.must(!st.labelled(spec.Label), "label", duplicateLabel); c.err() != nil {
		return nil, c.err()
	}
	made := st.makeLinode(spec, q.now)
	made.HostUUID, made.CCM = st.hash(40), st.jittered(st.cfg.CCMDelay)
	st.faults.spoil(made)
	st.faults.give(spec.Type, spec.Region, 1)
	st.tally.made(st, st.priceIn(spec.Type, spec.Region))
	return viewOwn(made, st.assets, q.now), nil
}

// updateInstance changes tags and label. That a PUT has all tags, in place of those before, is recorded for pools.
func (st *state) updateInstance(l *linode, q *request) (any, error) {
	var change struct {
		Label *string   `json:"label"`
		Tags  *[]string `json:"tags"`
	}
	if err := q.read(&change); err != nil {
		return nil, err
	}
	var c checker
	checkTags(&c, ptr.Deref(change.Tags, nil))
	if label := ptr.Deref(change.Label, l.label()); label != l.label() {
		c.must(!st.labelled(label), "label", duplicateLabel)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	l.change(change.Label, change.Tags, q.now)
	return l.view(st.assets, q.now), nil
}

func (l *linode) label() string {
	if l.own != nil {
		return l.own.Label
	}
	return l.slot.slot.name
}

// change writes what is not nil. The name of a pool's Linode is that of its slot, and stays.
func (l *linode) change(label *string, tags *[]string, now time.Time) {
	if l.own == nil {
		if tags != nil {
			l.slot.tags, l.slot.updated = sorted(*tags), now
		}
		return
	}
	set(&l.own.Label, label)
	if tags != nil {
		l.own.Tags = sorted(*tags)
	}
	l.own.Updated = now
}

// labelled says whether a Linode of the account has a label.
func (st *state) labelled(label string) bool {
	for _, i := range st.instances {
		if i.slot.name == label {
			return true
		}
	}
	for _, l := range st.linodes {
		if l.Label == label {
			return true
		}
	}
	return false
}

// removeInstance deletes a Linode. One of a pool goes behind LKE's back, which makes another for the slot; users have
// reported it.
func (st *state) removeInstance(l *linode, q *request) (any, error) {
	switch i := l.slot; {
	case l.own != nil:
		st.discard(l.own, q.now)
	case i.slot.instance == i && !i.slot.gone:
		st.recycle(i.slot, q.now)
	default:
		st.release(i, q.now)
	}
	return struct{}{}, nil
}

// discard lets a Linode go after the delete delay.
func (st *state) discard(l *Linode, now time.Time) {
	if !l.Gone.IsZero() {
		return
	}
	l.Gone = st.after(now, st.cfg.DeleteDelay)
	st.agenda.plan(l.Gone, func(at time.Time) { st.erase(l, at) })
}

func (st *state) erase(l *Linode, at time.Time) {
	if st.linodes[l.ID] == nil {
		return
	}
	delete(st.linodes, l.ID)
	st.left[l.ID] = at
	st.assets.Leave(l.ID)
	st.tally.deleted(st.priceIn(l.Plan.ID, l.Region), at.Sub(l.Created))
}

// Linodes returns the Linodes of the account that no LKE pool has, by id, with those that are on their way out.
func (s *Simulator) Linodes() (all []Linode) {
	s.settled(func(st *state, _ time.Time) {
		all = views(byID(st.linodes), func(l *Linode) Linode { return *l })
	})
	return all
}
