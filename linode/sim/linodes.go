package sim

import (
	"fmt"
	"time"

	"github.com/linode/linodego"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Linode is a Linode of the account, with all requested properties.
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
	// AuthorizedUsers are users whose keys it has as well.
	AuthorizedUsers []string    `json:"authorized_users,omitempty"`
	BackupsEnabled  bool        `json:"backups_enabled"`
	SwapSize        int         `json:"swap_size"`           // in MB
	BootSize        int         `json:"boot_size,omitempty"` // in MB; 0 means the rest of the disk
	Kernel          string      `json:"kernel,omitempty"`
	FirewallID      int         `json:"firewall_id,omitempty"`
	GroupID         int         `json:"placement_group_id,omitempty"`
	PrivateIP       string      `json:"private_ip,omitempty"`
	Interfaces      []Interface `json:"interfaces,omitempty"` // none means one public interface
	UserData        []byte      `json:"user_data,omitempty"`  // the user data from the Metadata service
	HostUUID        string      `json:"host_uuid"`
	Created         time.Time   `json:"created"`
	Updated         time.Time   `json:"updated"`
	Runs            time.Time   `json:"runs"` // when it has booted
	Gone            time.Time   `json:"gone"` // when it will be gone; zero if it stays
	// Off means that it was not booted, and Idle that nothing runs on it that joins a cluster.
	Off  bool `json:"off,omitempty"`
	Idle bool `json:"idle,omitempty"`
	// Away is its status while its host is under maintenance, and Down means that it is off. If Vacant is set, its
	// pool shows the slot without an instance meanwhile.
	Away   string `json:"away,omitempty"`
	Down   bool   `json:"down,omitempty"`
	Vacant bool   `json:"vacant,omitempty"`

	// Join is its progress in joining a cluster, and Restarts is how often its kubelet was restarted.
	Join     JoinStatus `json:"join"`
	Restarts int        `json:"restarts,omitempty"`
	// RegisterAs is the node name that it uses instead of its own.
	RegisterAs string `json:"register_as,omitempty"`
	// CCM is how long the cloud controller takes to complete its Node.
	CCM time.Duration `json:"-"`
}

// duplicateLabel is the answer to a label that is taken.
//
// Unverified: the text, which is how users and Linode's own Cluster API provider quote it, and that a Linode holds its
// label until it is gone.
const duplicateLabel = "Label must be unique among your linodes"

// makeLinode creates a Linode outside of pools from a validated spec.
func (st *state) makeLinode(spec LinodeSpec, now time.Time) *instance {
	id := st.lastInstance
	plan, _ := st.cfg.Catalog.Plan(spec.Type)
	i := &instance{Linode: Linode{
		ID: id, Label: spec.Label, Region: spec.Region, Plan: plan, Type: plan.ID,
		Image: spec.Image, Tags: sortedTags(spec.Tags), DiskEncryption: spec.encryption(),
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

// privateIP returns an address that is unique among 15,000 consecutive Linodes.
func privateIP(id int) string { return fmt.Sprintf("192.168.%d.%d", 128+id%15_000/250, 1+id%250) }

// enter adds a new Linode to its placement group and its VPC. If the image has no cloud-init, nothing reads the
// user data.
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

// nat returns the public address behind the address in a VPC: the requested one, or the Linode's own for "any".
func (i Interface) nat(l *Linode) *string {
	if i.IPv4 == nil || i.IPv4.NAT1To1 == nil || *i.IPv4.NAT1To1 != "any" {
		return ptr.Deref(i.IPv4, linodego.VPCIPv4{}).NAT1To1
	}
	return ptr.To(l.Address())
}

// Boots reports whether the Linode has booted something.
func (l *Linode) Boots(now time.Time) bool {
	return l.Gone.IsZero() && !l.Off && !l.Runs.After(now)
}

// resources returns the resources of its Node: those of its plan, reduced by its disks.
func (l *Linode) resources() catalog.Resources {
	has := l.Plan.Reported().Capacity
	has.EphemeralBytes -= int64(l.SwapSize) << 20
	if l.BootSize > 0 {
		has.EphemeralBytes = min(has.EphemeralBytes, int64(l.BootSize)<<20*983/1000)
	}
	return has
}

// Address returns the address of its first interface, from the range for documentation.
func (l *Linode) Address() string { return fmt.Sprintf("203.0.113.%d", 1+l.ID%65_000%254) }

// IPv6 returns its public IPv6 address, from the range for documentation.
func (l *Linode) IPv6() string { return fmt.Sprintf("2001:db8::%x:%x", l.ID>>16, l.ID&0xffff) }

// Addresses returns the addresses that the cloud controller sets on its Node. The address in a VPC is before the
// private one, which a Linode has only if it is requested. Many programs use the first external address as that of
// the Node.
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

// status changes from provisioning to booting to running. For the Linode of a pool, offline was recorded for the
// first moments. How long each status lasts, and the status of a Linode that is being deleted, are assumptions.
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
