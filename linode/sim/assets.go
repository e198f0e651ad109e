package sim

import (
	"net/http"
	"slices"
	"time"
)

// This file serves what Linodes are made with. What fields a filter may name is that of Linode's Terraform provider.

func (st *state) listImages(q *request) (any, error) {
	return filtered(q, st.assets.All().Images, "id", "label", "description", "created_by", "type", "status", "is_public",
		"deprecated", "size", "vendor", "tags")
}

func (st *state) image(q *request) *Image { return st.assets.Image(q.http.PathValue("image")) }

func (st *state) getImage(i *Image, _ *request) (any, error) { return *i, nil }

func (st *state) listFirewalls(q *request) (any, error) {
	return filtered(q, st.assets.All().Firewalls, "id", "label", "tags", "status")
}

func (st *state) firewall(q *request) *Firewall { return st.assets.Firewall(q.id("firewall")) }

func (st *state) getFirewall(f *Firewall, _ *request) (any, error) { return *f, nil }

func (st *state) listVPCs(q *request) (any, error) {
	return filtered(q, st.assets.All().VPCs, "id", "label", "description", "region")
}

func (st *state) vpc(q *request) *VPC { return st.assets.VPC(q.id("vpc")) }

func (st *state) getVPC(v *VPC, _ *request) (any, error) { return *v, nil }

func (st *state) listSubnets(v *VPC, q *request) (any, error) {
	return filtered(q, slices.Clone(v.Subnets), "id", "label")
}

func (st *state) subnet(q *request) *Subnet {
	if vpc, subnet := st.assets.Subnet(q.id("subnet")); vpc != nil && vpc.ID == q.id("vpc") {
		return subnet
	}
	return nil
}

func (st *state) getSubnet(s *Subnet, _ *request) (any, error) { return *s, nil }

func (st *state) listGroups(q *request) (any, error) {
	return filtered(q, st.assets.All().Groups, "id", "label", "region", "placement_group_type", "is_compliant")
}

func (st *state) group(q *request) *Placement { return st.assets.Group(q.id("group")) }

func (st *state) getGroup(g *Placement, _ *request) (any, error) { return *g, nil }

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
	var c checker
	for _, wrong := range st.assets.CheckGroup(draft, st.cfg.Catalog) {
		c.add(wrong.Field, "%s", wrong.Reason)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return st.assets.Put(AssetSet{Groups: []Placement{draft}}).Groups[0], nil
}

// removeGroup refuses one that has members, which the API's specification says; the text is ours.
func (st *state) removeGroup(g *Placement, _ *request) (any, error) {
	if !st.assets.RemoveGroup(g.ID) {
		return nil, refusal(http.StatusBadRequest, "", "Placement group has Linodes: remove them first")
	}
	return struct{}{}, nil
}

func (st *state) listUsers(q *request) (any, error) {
	return filtered(q, st.assets.All().Users, "username", "email")
}

// AddAssets gives the account things to make Linodes with, in place of those of the same id, and returns them with
// their ids. A firewall of the set, or of the configuration, makes all others unknown.
func (s *Simulator) AddAssets(set AssetSet) (added AssetSet) {
	s.settled(func(st *state, _ time.Time) { added = st.assets.Put(set) })
	return added
}
