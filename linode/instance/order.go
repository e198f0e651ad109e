package instance

// An order defines the Linode of a NodeClaim. It is written on the claim when its plan type is chosen, and a
// repeated call uses the same order even after a change of the class. It does not include the user data and
// the token.

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/linode/linodego"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Order has the properties with which a Linode is created. Numbers are 0 if they are not set.
type Order struct {
	Plan              string                               `json:"plan"`
	Image             string                               `json:"image"`
	AuthorizedKeys    []string                             `json:"authorizedKeys,omitempty"`
	AuthorizedUsers   []string                             `json:"authorizedUsers,omitempty"`
	Backups           bool                                 `json:"backups,omitempty"`
	SwapMiB           *int                                 `json:"swapMiB,omitempty"` // nil means none
	BootMiB           *int                                 `json:"bootMiB,omitempty"` // size of the disk with the system
	Kernel            string                               `json:"kernel,omitempty"`
	DiskEncryption    string                               `json:"diskEncryption,omitempty"`
	Firewall          int                                  `json:"firewall,omitempty"`
	Subnet            int                                  `json:"subnet,omitempty"`
	IPv6              *linodev1alpha1.IPv6Options          `json:"ipv6,omitempty"` // in the subnet
	PlacementGroup    int                                  `json:"placementGroup,omitempty"`
	PoolGroup         *PoolGroup                           `json:"poolGroup,omitempty"` // in place of PlacementGroup
	CompliantOnly     *bool                                `json:"compliantOnly,omitempty"`
	PlacementGroupMax int                                  `json:"placementGroupMax,omitempty"` // the number of Linodes that the group can have
	Tags              []string                             `json:"tags,omitempty"`
	Bootstrap         linodev1alpha1.Bootstrap             `json:"bootstrap"`
	Kubelet           *linodev1alpha1.KubeletConfiguration `json:"kubelet,omitempty"`
}

// PoolGroup is the placement group of a NodePool. Its id is looked up when the machine is created, because the
// group may have to be created first.
type PoolGroup struct {
	Pool   string `json:"pool"`
	Policy string `json:"policy"`
}

// PlacementGroup is the placement group of an order: its id, or that of a NodePool. The zero value means none.
type PlacementGroup struct {
	ID int
	Of PoolGroup
}

// Group returns the placement group.
func (o Order) Group() PlacementGroup {
	return PlacementGroup{ID: o.PlacementGroup, Of: ptr.Deref(o.PoolGroup, PoolGroup{})}
}

func (g PlacementGroup) String() string {
	if g.Of != (PoolGroup{}) {
		return fmt.Sprintf("the %s placement group of NodePool %s", g.Of.Policy, g.Of.Pool)
	}
	return fmt.Sprintf("placement group %d", g.ID)
}

// OrderFor returns the order of a machine of a class. If the class requests a placement group for each NodePool,
// the caller must set it.
func OrderFor(class *linodev1alpha1.LinodeNodeClass, plan string) Order {
	spec := class.Spec
	found := ptr.Deref(class.Status.Selected, linodev1alpha1.Selected{})
	o := Order{
		Plan: plan, Image: found.Image, AuthorizedKeys: spec.AuthorizedKeys, AuthorizedUsers: spec.AuthorizedUsers,
		Backups: spec.BackupsEnabled, SwapMiB: spec.Swap(), DiskEncryption: spec.DiskEncryption,
		Firewall: found.FirewallID, Subnet: found.SubnetID, IPv6: spec.IPv6Options,
		PlacementGroup: found.PlacementGroupID, PlacementGroupMax: found.PlacementGroupSize,
		Tags: slices.Sorted(slices.Values(spec.Tags)), Kubelet: spec.Kubelet,
		Bootstrap: ptr.Deref(spec.Bootstrap, linodev1alpha1.Bootstrap{Kind: linodev1alpha1.BootstrapKubeadm}),
	}
	if spec.PlacementGroup != nil {
		o.CompliantOnly = spec.PlacementGroup.CompliantOnly
	}
	if spec.OSDisk != nil {
		o.BootMiB = new(int(spec.OSDisk.Size.Value() >> 20))
	}
	if spec.Configuration != nil {
		o.Kernel = spec.Configuration.Kernel
	}
	return o
}

// Plain reports whether a Node of the machine has the resources of its plan type. Settings of the kubelet, a swap
// disk or a smaller disk reduce them.
func (o Order) Plain() bool {
	return o.Kubelet == nil && ptr.Deref(o.SwapMiB, 0) == 0 && o.BootMiB == nil
}

// Encode writes the order as one line of JSON with its keys in a fixed order.
func (o Order) Encode() string { return manifest.Line(o) }

// DecodeOrder reads what Encode wrote.
func DecodeOrder(text string) (o Order, err error) {
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return Order{}, fmt.Errorf("read the order of a machine: %w", err)
	}
	if o.Plan == "" || o.Image == "" {
		return Order{}, fmt.Errorf("read the order of a machine: no plan type, or no image, in %q", text)
	}
	return o, nil
}

// Spec returns the request for the Linode, without its label and user data. Linode requires a root password if no
// SSH key is given; password is random and is not kept. The caller must first replace a PoolGroup by a
// PlacementGroup. Without a setting for swap, it requests no swap: Linode would create a swap disk of 512 MB, with
// which a kubelet of kubeadm does not start.
//
// Unverified: that Linode takes a swap of 0 for none.
func (o Order) Spec(region, password string) api.InstanceSpec {
	spec := api.InstanceSpec{
		Region: region, Type: o.Plan, Image: o.Image, AuthorizedKeys: o.AuthorizedKeys, AuthorizedUsers: o.AuthorizedUsers,
		RootPass: password, BackupsEnabled: o.Backups, SwapSize: new(ptr.Deref(o.SwapMiB, 0)), BootSize: o.BootMiB,
		FirewallID: o.Firewall, DiskEncryption: linodego.InstanceDiskEncryption(o.DiskEncryption),
		Tags: slices.Clone(o.Tags), Booted: new(true),
	}
	if o.Kernel != "" {
		spec.Kernel = &o.Kernel
	}
	if o.PlacementGroup != 0 {
		spec.PlacementGroup = &linodego.InstanceCreatePlacementGroupOptions{
			ID: o.PlacementGroup, CompliantOnly: o.CompliantOnly,
		}
	}
	if o.Subnet != 0 {
		spec.InterfaceGeneration = linodego.GenerationLegacyConfig
		spec.Interfaces = []linodego.InstanceConfigInterfaceCreateOptions{o.inSubnet()}
	}
	return spec
}

// inSubnet returns the only interface of a machine in a VPC: an address in the subnet, with a public address behind
// it through which the machine reaches what it boots from.
//
// Unverified: that a Linode with this interface alone reaches the Metadata service.
func (o Order) inSubnet() linodego.InstanceConfigInterfaceCreateOptions {
	i := linodego.InstanceConfigInterfaceCreateOptions{
		Purpose: linodego.InterfacePurposeVPC, Primary: true, SubnetID: &o.Subnet,
		IPv4: &linodego.VPCIPv4{NAT1To1: new("any")},
	}
	if o.IPv6 == nil {
		return i
	}
	i.IPv6 = &linodego.InstanceConfigInterfaceCreateOptionsIPv6{IsPublic: o.IPv6.IsPublicIPv6}
	if ptr.Deref(o.IPv6.EnableSLAAC, false) {
		i.IPv6.SLAAC = []linodego.InstanceConfigInterfaceCreateOptionsIPv6SLAAC{{Range: "auto"}}
	}
	if ptr.Deref(o.IPv6.EnableRanges, false) {
		i.IPv6.Ranges = []linodego.InstanceConfigInterfaceCreateOptionsIPv6Range{{Range: new("auto")}}
	}
	return i
}
