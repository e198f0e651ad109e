package sim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/linode/linodego"
)

// The only type of placement groups, and their policies.
const (
	AntiAffinity = "anti_affinity:local"
	Strict       = "strict"
	Flexible     = "flexible"
)

// Room is how many Linodes a placement group can have in all recorded regions.
const Room = 5

// Placement is a group of Linodes that run on different hosts.
type Placement struct {
	ID         int                             `json:"id"`
	Label      string                          `json:"label"`
	Region     string                          `json:"region"`
	Type       string                          `json:"placement_group_type"`
	Policy     string                          `json:"placement_group_policy"`
	Compliant  bool                            `json:"is_compliant"`
	Members    []linodego.PlacementGroupMember `json:"members"`
	Migrations any                             `json:"migrations"`
	// Room is how many Linodes it can have; 0 means the constant Room.
	Room int `json:"room,omitempty"`
}

func (g *Placement) fill() {
	g.Label = cmp.Or(g.Label, fmt.Sprintf("placement-group-%d", g.ID))
	g.Type, g.Policy = cmp.Or(g.Type, AntiAffinity), cmp.Or(g.Policy, Strict)
	g.Members, g.Compliant = append([]linodego.PlacementGroupMember{}, g.Members...), true
}

// groupLabel matches valid labels by the API's specification. It names no maximum length; 32 characters were once
// the limit of Cloud Manager.
var groupLabel = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,30}[a-zA-Z0-9])?$`)

// checkGroup validates the request for a placement group. The texts are ours.
//
// Unverified: that its label is one of a kind in the account, in all regions; the API's specification calls it
// unique.
func (st *state) checkGroup(c *requestChecker, g Placement) {
	region, known := st.cfg.Catalog.Region(g.Region)
	c.must(groupLabel.MatchString(g.Label), "label", "Must begin and end with an alphanumeric character and contain only "+
		"letters, digits, -, _ and ., 32 of them at most")
	c.must(len(g.Label) <= 30 || !st.breaks("group-label"), "label", "Length must be 1-30 characters")
	c.must(known, "region", "region is not valid")
	c.must(!known || region.Has("Placement Group"), "region", "Placement groups are not available in region %s", g.Region)
	c.must(g.Type == AntiAffinity, "placement_group_type", "Must be one of %s", AntiAffinity)
	c.must(g.Policy == Strict || g.Policy == Flexible, "placement_group_policy", "Must be one of %s, %s", Strict, Flexible)
	for _, other := range st.assets.groups {
		c.must(other.Label != g.Label || st.breaks("group-unique"), "label", "Label must be unique")
	}
}

// Joinable returns why a Linode of a region cannot be in a group; "" if it can. The texts are ours.
//
// Unverified: that a full one refuses with a 400 about placement_group.id, and that a Linode is a member until it
// is gone.
func (g *Placement) Joinable(region string) string {
	switch {
	case g.Region != region:
		return fmt.Sprintf("Placement group %d is in region %s, not %s", g.ID, g.Region, region)
	case len(g.Members) >= cmp.Or(g.Room, Room):
		return fmt.Sprintf("Placement group %d is full: it has %d Linodes", g.ID, len(g.Members))
	}
	return ""
}

// Enter adds a Linode to the group.
func (g *Placement) Enter(linode int) {
	g.Members = append(slices.Clone(g.Members), linodego.PlacementGroupMember{LinodeID: linode, IsCompliant: true})
}

// Leave removes a Linode that is gone from all groups and subnets.
func (a *Assets) Leave(linode int) {
	for _, g := range a.groups {
		g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(m linodego.PlacementGroupMember) bool { return m.LinodeID == linode })
	}
	for _, v := range a.vpcs {
		for k := range v.Subnets {
			s := &v.Subnets[k]
			s.Linodes = slices.DeleteFunc(slices.Clone(s.Linodes), func(l linodego.VPCSubnetLinode) bool { return l.ID == linode })
			for address, owner := range s.taken {
				if owner == linode {
					delete(s.taken, address)
				}
			}
		}
	}
}
