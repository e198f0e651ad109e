package sim

import (
	"net/http"
	"time"
)

func (st *state) vpc(q *request) *VPC { return st.assets.VPC(q.id("vpc")) }

func (st *state) subnet(q *request) *Subnet {
	if vpc, subnet := st.assets.Subnet(q.id("subnet")); vpc != nil && vpc.ID == q.id("vpc") {
		return subnet
	}
	return nil
}

func (st *state) group(q *request) *Placement { return st.assets.groups[q.id("group")] }

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
	st.checkGroup(&c, draft)
	if err := c.err(); err != nil {
		return nil, err
	}
	return st.assets.Put(AssetSet{Groups: []Placement{draft}}).Groups[0], nil
}

// removeGroup refuses one that has members, which the API's specification says; the text is ours.
func (st *state) removeGroup(g *Placement, _ *request) (any, error) {
	if len(g.Members) > 0 {
		return nil, refusal(http.StatusBadRequest, "", "Placement group has Linodes: remove them first")
	}
	delete(st.assets.groups, g.ID)
	return struct{}{}, nil
}

// AddAssets gives the account things to make Linodes with, in place of those of the same id, and returns them with
// their ids. A firewall of the set, or of the configuration, makes all others unknown.
func (s *Simulator) AddAssets(set AssetSet) (added AssetSet) {
	s.settled(func(st *state, _ time.Time) { added = st.assets.Put(set) })
	return added
}
