package sim

import (
	"fmt"
	"time"

	"github.com/linode/linodego"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Linode is a Linode of the account, with all that was requested.
type Linode struct {
	ID             int          `json:"id"`
	Label          string       `json:"label"`
	Region         string       `json:"region"`
	Plan           catalog.Plan `json:"-"`
	Type           string       `json:"type"`
	Image          string       `json:"image,omitempty"`
	Tags           []string     `json:"tags"`
	DiskEncryption string       `json:"disk_encryption"`
	AuthorizedKeys []string     `json:"authorized_keys,omitempty"`
	// AuthorizedUsers are those whose keys it has as well.
	AuthorizedUsers []string    `json:"authorized_users,omitempty"`
	BackupsEnabled  bool        `json:"backups_enabled"`
	SwapSize        int         `json:"swap_size"`           // MB
	BootSize        int         `json:"boot_size,omitempty"` // MB; 0: all that is left
	Kernel          string      `json:"kernel,omitempty"`
	FirewallID      int         `json:"firewall_id,omitempty"`
	GroupID         int         `json:"placement_group_id,omitempty"`
	PrivateIP       string      `json:"private_ip,omitempty"`
	Interfaces      []Interface `json:"interfaces,omitempty"` // none: one that is public
	UserData        []byte      `json:"user_data,omitempty"`  // what it reads of the Metadata service
	HostUUID        string      `json:"host_uuid"`
	Created         time.Time   `json:"created"`
	Updated         time.Time   `json:"updated"`
	Runs            time.Time   `json:"runs"` // when it has booted
	Gone            time.Time   `json:"gone"` // when it will be gone; zero: it stays
	// Off says that nothing has been booted, and Idle that nothing starts that joins.
	Off  bool `json:"off,omitempty"`
	Idle bool `json:"idle,omitempty"`
	// Away is its status while its host is maintained, and Down says that it is off. Meanwhile its pool shows the slot
	// Vacant: without an instance.
	Away   string `json:"away,omitempty"`
	Down   bool   `json:"down,omitempty"`
	Vacant bool   `json:"vacant,omitempty"`

	// Join is how far it has come on its way into a cluster, and Restarts how often its kubelet was started again.
	Join     JoinStatus `json:"join"`
	Restarts int        `json:"restarts,omitempty"`
	// PosesAs is another name than its own that it registers under.
	PosesAs string `json:"poses_as,omitempty"`
	// CCM is how long the cloud controller takes to complete its Node.
	CCM time.Duration `json:"-"`
}

// duplicateLabel is the answer to a label that is taken.
//
// Unverified: the text, which is how users and Linode's own Cluster API provider quote it, and that a Linode holds its
// label until it is gone.
const duplicateLabel = "Label must be unique among your linodes"

// makeLinode creates a Linode that is in no pool from a checked spec.
func (st *state) makeLinode(spec LinodeSpec, now time.Time) *instance {
	id := st.lastInstance
	plan, _ := st.cfg.Catalog.Plan(spec.Type)
	i := &instance{Linode: Linode{
		ID: id, Label: spec.Label, Region: spec.Region, Plan: plan, Type: plan.ID,
		Image: spec.Image, Tags: sorted(spec.Tags), DiskEncryption: spec.encryption(),
		AuthorizedKeys: spec.AuthorizedKeys, AuthorizedUsers: spec.AuthorizedUsers, BackupsEnabled: spec.BackupsEnabled,
		SwapSize: spec.swap(), BootSize: ptr.Deref(spec.BootSize, 0), Kernel: spec.Kernel, FirewallID: spec.FirewallID,
		UserData: spec.userData(), Created: now, Updated: now, Runs: st.after(now, st.cfg.JoinDelay), Off: !spec.boots(),
		HostUUID: st.hash(40), CCM: st.jittered(st.cfg.CCMDelay),
	}}
	if spec.PrivateIP {
		i.PrivateIP = privateIP(id)
	}
	i.enter(spec, st.assets)
	st.add(i)
	return i
}

// add adds a new Linode to the account.
func (st *state) add(i *instance) {
	st.instances[i.ID] = i
	st.tally.made(st.price(i))
}

// privateIP is unique among any 15,000 Linodes in a row.
func privateIP(id int) string { return fmt.Sprintf("192.168.%d.%d", 128+id%15_000/250, 1+id%250) }

// enter puts a new Linode into its group and its VPC. Nothing reads its user data where the image has no cloud-init.
func (l *Linode) enter(spec LinodeSpec, has *Assets) {
	if spec.PlacementGroup != nil {
		l.GroupID = spec.PlacementGroup.ID
		has.groups[l.GroupID].Enter(l.ID)
	}
	for n, i := range spec.Interfaces {
		if i.Purpose == "vpc" {
			vpc, subnet := has.Subnet(*i.SubnetID)
			address, _ := subnet.Free(i.address())
			subnet.Give(address, l.ID, 10*l.ID+n)
			i.VPCID, i.IPv4 = vpc.ID, &linodego.VPCIPv4{VPC: address.String(), NAT1To1: i.nat(l)}
		}
		l.Interfaces = append(l.Interfaces, i)
	}
	if image := has.images[l.Image]; image != nil && !image.Has(CloudInit) && l.UserData != nil {
		l.Idle = true
		l.Join.Step = Boot
		l.Join.Problem = "image " + l.Image + " has no cloud-init: nothing reads user data"
	}
}

// nat is the public address behind that in a VPC: what is requested, or the Linode's own for "any".
func (i Interface) nat(l *Linode) *string {
	if i.IPv4 == nil || i.IPv4.NAT1To1 == nil || *i.IPv4.NAT1To1 != "any" {
		return ptr.Deref(i.IPv4, linodego.VPCIPv4{}).NAT1To1
	}
	return ptr.To(l.Address())
}

// Boots says whether there is something on a Linode that runs by now.
func (l *Linode) Boots(now time.Time) bool {
	return l.Gone.IsZero() && !l.Off && !l.Runs.After(now)
}

// resources are what a Node of it has: its plan, with what its disks leave of the plan's.
func (l *Linode) resources() catalog.Resources {
	has := l.Plan.Reported().Capacity
	has.EphemeralBytes -= int64(l.SwapSize) << 20
	if l.BootSize > 0 {
		has.EphemeralBytes = min(has.EphemeralBytes, int64(l.BootSize)<<20*983/1000)
	}
	return has
}

// Address is that of its first interface, of the addresses for documentation.
func (l *Linode) Address() string { return fmt.Sprintf("203.0.113.%d", 1+l.ID%65_000%254) }

// IPv6 is its public address of that kind, of the addresses for documentation.
func (l *Linode) IPv6() string { return fmt.Sprintf("2001:db8::%x:%x", l.ID>>16, l.ID&0xffff) }

// Addresses are those that the cloud controller gives its Node: the one in a VPC goes before the private one, which a
// Linode has only where it is requested. The first that is external is that of the Node to many programs.
func (l *Linode) Addresses() []corev1.NodeAddress {
	all := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: l.Label}}
	internal := l.PrivateIP
	for _, i := range l.Interfaces {
		if i.Purpose == "vpc" {
			internal = i.IPv4.VPC
		}
	}
	if internal != "" {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: internal})
	}
	return append(all, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: l.Address()},
		corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: l.IPv6()})
}

// status goes from provisioning over booting to running. Of a pool's Linode, offline is recorded for the first moments.
// How long each of them lasts, and what a Linode says while it is deleted, is an assumption.
func (i *instance) status(now time.Time) string {
	switch {
	case !i.Gone.IsZero():
		return "deleting"
	case i.sleeps.After(now):
		return "offline"
	case i.Away != "":
		return i.Away
	case i.Off && (i.slot != nil || !i.Runs.After(now)):
		return "offline"
	case i.Boots(now):
		return "running"
	case now.Sub(i.Created) >= i.Runs.Sub(i.Created)/4:
		return "booting"
	case i.slot != nil:
		return "offline"
	}
	return "provisioning"
}
