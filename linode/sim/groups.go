package sim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The one type of placement groups, and their policies.
const (
	AntiAffinity = "anti_affinity:local"
	Strict       = "strict"
	Flexible     = "flexible"
)

// Room is how many Linodes a placement group has room for, as all recorded regions say.
const Room = 5

// Placement is a group of Linodes that run on different hosts.
type Placement struct {
	ID         int      `json:"id"`
	Label      string   `json:"label"`
	Region     string   `json:"region"`
	Type       string   `json:"placement_group_type"`
	Policy     string   `json:"placement_group_policy"`
	Compliant  bool     `json:"is_compliant"`
	Members    []Member `json:"members"`
	Migrations any      `json:"migrations"`
	// Room is how many there is room for, where it is not what all have.
	Room int `json:"room,omitempty"`
}

// Member is a Linode of a placement group.
type Member struct {
	Linode    int  `json:"linode_id"`
	Compliant bool `json:"is_compliant"`
}

func (g *Placement) fill() {
	g.Label = cmp.Or(g.Label, fmt.Sprintf("placement-group-%d", g.ID))
	g.Type, g.Policy = cmp.Or(g.Type, AntiAffinity), cmp.Or(g.Policy, Strict)
	g.Members, g.Compliant = append([]Member{}, g.Members...), true
}

// groupLabel is what the API's specification says of labels. It names no limit of their length; that of 32 characters
// is one that Cloud Manager has had.
var groupLabel = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,30}[a-zA-Z0-9])?$`)

// CheckGroup returns what is wrong with a placement group that somebody asks for. The texts are ours.
//
// Unverified: that its label is one of a kind in the account, whatever the region; the API's specification calls it
// unique.
func (a *Assets) CheckGroup(g Placement, sold *catalog.Catalog) (wrong []Problem) {
	must := func(ok bool, field, format string, args ...any) {
		if !ok {
			wrong = append(wrong, Problem{Field: field, Reason: fmt.Sprintf(format, args...)})
		}
	}
	region, known := sold.Region(g.Region)
	must(groupLabel.MatchString(g.Label), "label", "Must begin and end with an alphanumeric character and contain only "+
		"letters, digits, -, _ and ., 32 of them at most")
	must(known, "region", "region is not valid")
	must(!known || region.Has("Placement Group"), "region", "Placement groups are not available in region %s", g.Region)
	must(g.Type == AntiAffinity, "placement_group_type", "Must be one of %s", AntiAffinity)
	must(g.Policy == Strict || g.Policy == Flexible, "placement_group_policy", "Must be one of %s, %s", Strict, Flexible)
	for _, other := range a.groups {
		must(other.Label != g.Label, "label", "Label must be unique")
	}
	return wrong
}

// Joinable returns why a Linode of a region cannot be in a group; "" where it can. The texts are ours.
//
// Unverified: that a full one refuses with a 400 about placement_group.id, and that a Linode is a member until it is gone.
func (g *Placement) Joinable(region string) string {
	switch {
	case g.Region != region:
		return fmt.Sprintf("Placement group %d is in region %s, not %s", g.ID, g.Region, region)
	case len(g.Members) >= cmp.Or(g.Room, Room):
		return fmt.Sprintf("Placement group %d is full: it has %d Linodes", g.ID, len(g.Members))
	}
	return ""
}

// Enter makes a Linode a member.
func (g *Placement) Enter(linode int) {
	g.Members = append(slices.Clone(g.Members), Member{Linode: linode, Compliant: true})
}

// Leave takes a Linode, which is gone, out of all groups and subnets.
func (a *Assets) Leave(linode int) {
	for _, g := range a.groups {
		g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(m Member) bool { return m.Linode == linode })
	}
	for _, v := range a.vpcs {
		for k := range v.Subnets {
			s := &v.Subnets[k]
			s.Linodes = slices.DeleteFunc(slices.Clone(s.Linodes), func(l SubnetLinode) bool { return l.ID == linode })
			for address, owner := range s.taken {
				if owner == linode {
					delete(s.taken, address)
				}
			}
		}
	}
}

// RemoveGroup takes a group away. It says no where it has members.
func (a *Assets) RemoveGroup(id int) bool {
	if len(a.groups[id].Members) > 0 {
		return false
	}
	delete(a.groups, id)
	return true
}

// Row is what filters may name.
func (g Placement) Row() Row {
	return Row{
		"id": {fmt.Sprint(g.ID)}, "label": {g.Label}, "region": {g.Region}, "placement_group_type": {g.Type},
		"is_compliant": {fmt.Sprint(g.Compliant)},
	}
}
