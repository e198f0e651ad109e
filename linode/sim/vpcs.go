package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/linode/linodego"
)

// VPC is a private network in one region.
type VPC struct {
	ID          int      `json:"id"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	Region      string   `json:"region"`
	Subnets     []Subnet `json:"subnets"`
	Created     string   `json:"created"`
	Updated     string   `json:"updated"`
}

// Subnet is a part of a VPC.
type Subnet struct {
	ID      int                        `json:"id"`
	Label   string                     `json:"label"`
	IPv4    string                     `json:"ipv4"` // as a prefix
	Linodes []linodego.VPCSubnetLinode `json:"linodes"`
	Created string                     `json:"created"`
	Updated string                     `json:"updated"`

	taken map[netip.Addr]int // addresses in use, by Linode
}

// view returns a copy that shares nothing that changes.
func (v VPC) view() VPC {
	v.Subnets = slices.Clone(v.Subnets)
	return v
}

func (v *VPC) fill(next func(int) int) {
	const long = firstCreated
	v.Label = cmp.Or(v.Label, fmt.Sprintf("vpc-%d", v.ID))
	v.Created, v.Updated = cmp.Or(v.Created, long), cmp.Or(v.Updated, long)
	v.Subnets = append([]Subnet{}, v.Subnets...)
	for k := range v.Subnets {
		s := &v.Subnets[k]
		s.ID = next(s.ID)
		s.Label, s.IPv4 = cmp.Or(s.Label, fmt.Sprintf("subnet-%d", s.ID)), cmp.Or(s.IPv4, "10.0.0.0/24")
		s.Created, s.Updated = cmp.Or(s.Created, long), cmp.Or(s.Updated, long)
		s.Linodes = append([]linodego.VPCSubnetLinode{}, s.Linodes...)
		s.taken = map[netip.Addr]int{}
	}
}

// Subnet finds a subnet and its VPC by the subnet's id; nil if there is none.
func (a *Assets) Subnet(id int) (*VPC, *Subnet) {
	for _, v := range a.vpcs {
		for k := range v.Subnets {
			if v.Subnets[k].ID == id {
				return v, &v.Subnets[k]
			}
		}
	}
	return nil, nil
}

// Free returns a free address of a subnet: the requested one, or the first one for "" or "auto". The first and the
// last address of a subnet, and the gateway, are never free. It returns false if there is none.
func (s *Subnet) Free(asked string) (netip.Addr, bool) {
	prefix, err := netip.ParsePrefix(s.IPv4)
	if err != nil {
		return netip.Addr{}, false
	}
	if asked != "" && asked != "auto" {
		address, err := netip.ParseAddr(asked)
		return address, err == nil && prefix.Contains(address) && s.taken[address] == 0
	}
	for address := prefix.Masked().Addr().Next().Next(); prefix.Contains(address.Next()); address = address.Next() {
		if s.taken[address] == 0 {
			return address, true
		}
	}
	return netip.Addr{}, false
}

// Give assigns an address to a Linode.
func (s *Subnet) Give(address netip.Addr, linode, networkInterface int) {
	s.taken[address] = linode
	s.Linodes = append(s.Linodes, linodego.VPCSubnetLinode{
		ID: linode, Interfaces: []linodego.VPCSubnetLinodeInterface{{ID: networkInterface, Active: true}},
	})
}
