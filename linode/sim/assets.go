package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (st *state) group(q *request) *Placement { return st.assets.groups[q.id("group")] }

// createGroup answers POST /placement/groups.
func (st *state) createGroup(q *request) (any, error) {
	var spec struct {
		Label  string `json:"label"`
		Region string `json:"region"`
		Type   string `json:"placement_group_type"`
		Policy string `json:"placement_group_policy"`
	}
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	draft := Placement{Label: spec.Label, Region: spec.Region, Type: spec.Type, Policy: spec.Policy}
	var c requestChecker
	st.checkGroup(&c, draft)
	if err := c.error(); err != nil {
		return nil, err
	}
	if st.breaks("group-size") {
		draft.Room = Room - 1
	}
	return st.assets.Put(AssetSet{Groups: []Placement{draft}}).Groups[0], nil
}

// removeGroup refuses to delete a group with members, as the API's specification says; the text is ours.
func (st *state) removeGroup(g *Placement, _ *request) (any, error) {
	if len(g.Members) > 0 {
		return nil, refusalError(http.StatusBadRequest, "", "Placement group has Linodes: remove them first")
	}
	delete(st.assets.groups, g.ID)
	return struct{}{}, nil
}

// AddAssets adds objects from which Linodes are created to the account, replaces those with the same id, and
// returns them with their ids. Once the set or the configuration has a firewall, no other firewall exists.
func (s *Simulator) AddAssets(set AssetSet) (added AssetSet) {
	s.update(func(st *state, _ time.Time) { added = st.assets.Put(set) })
	return added
}

// The objects of an account from which Linodes are created: images, firewalls, VPCs, placement groups and users,
// with the rules where they can be used.

// AssetSet has objects of an account, in the API's format. Missing ids are assigned from one sequence for all
// kinds.
type AssetSet struct {
	Images    []Image     `json:"images,omitempty"`
	Firewalls []Firewall  `json:"firewalls,omitempty"`
	VPCs      []VPC       `json:"vpcs,omitempty"`
	Groups    []Placement `json:"placement_groups,omitempty"`
	Users     []string    `json:"users,omitempty"` // by name; Linodes may have their SSH keys
}

// Firewall is a firewall; its rules are not simulated.
type Firewall struct {
	ID     int      `json:"id"`
	Label  string   `json:"label"`
	Status string   `json:"status"`
	Tags   []string `json:"tags"`
}

// Assets are the objects of an account. Its caller holds a lock.
type Assets struct {
	images    map[string]*Image
	firewalls map[int]*Firewall
	vpcs      map[int]*VPC
	groups    map[int]*Placement
	users     []string
	last      int
}

// newAssets returns the objects of every account: the public images, and one user.
func newAssets() *Assets {
	a := &Assets{
		images: map[string]*Image{}, firewalls: map[int]*Firewall{}, vpcs: map[int]*VPC{}, groups: map[int]*Placement{},
		users: []string{"lkeplan"}, last: 100_000,
	}
	for _, i := range publicImages() {
		a.images[i.ID] = &i
	}
	return a
}

// Put adds the objects of a set, replaces those with the same id, and returns the set with ids.
func (a *Assets) Put(s AssetSet) AssetSet {
	a.users = append(a.users, s.Users...)
	return AssetSet{
		Images: viewsOf(s.Images, func(i Image) Image {
			if i.ID == "" {
				i.ID = fmt.Sprintf("private/%d", a.next(0))
			}
			i.fill()
			a.images[i.ID] = &i
			return i
		}),
		Firewalls: viewsOf(s.Firewalls, func(f Firewall) Firewall {
			f.ID, f.Status = a.next(f.ID), cmp.Or(f.Status, "enabled")
			f.Label, f.Tags = cmp.Or(f.Label, fmt.Sprintf("firewall-%d", f.ID)), append([]string{}, f.Tags...)
			a.firewalls[f.ID] = &f
			return f
		}),
		VPCs: viewsOf(s.VPCs, func(v VPC) VPC {
			v.ID = a.next(v.ID)
			v.fill(a.next)
			a.vpcs[v.ID] = &v
			return v.view()
		}),
		Groups: viewsOf(s.Groups, func(g Placement) Placement {
			g.ID = a.next(g.ID)
			g.fill()
			a.groups[g.ID] = &g
			return g
		}),
		Users: s.Users,
	}
}

// next returns the id, or a new one if it is 0.
func (a *Assets) next(id int) int {
	if id == 0 {
		id = a.last + 1
	}
	a.last = max(a.last, id)
	return id
}

// HasUser reports whether the account has a user with that name, in any case.
func (a *Assets) HasUser(name string) bool {
	return slices.ContainsFunc(a.users, func(have string) bool { return strings.EqualFold(have, name) })
}

// Firewall returns a firewall; nil if there is none with the id. An account without configured firewalls has one
// for each id.
func (a *Assets) Firewall(id int) *Firewall {
	if len(a.firewalls) == 0 && id > 0 {
		return &Firewall{ID: id, Label: fmt.Sprintf("firewall-%d", id), Status: "enabled", Tags: []string{}}
	}
	return a.firewalls[id]
}

// valuesByID returns objects in the order of their ids.
func valuesByID[K cmp.Ordered, V any](objects map[K]*V) []V {
	return append([]V{}, viewsOf(byID(objects), func(v *V) V { return *v })...)
}
