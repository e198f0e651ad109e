package sim

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// swap is the size of a Linode's swap disk where nobody says another, in MB; 512 is the documented default.
const swap = 512

// checkDisks: the image is there and ready in the region, and the disks fit the plan. That they must fit together is an
// assumption, as is which kernels there are.
func (s LinodeSpec) checkDisks(c *checker, plan catalog.Plan, has *Assets) {
	must := c.must
	image := has.images[s.Image]
	must(s.Image == "" || image != nil, "image", "image is not valid")
	size := 0
	if image != nil {
		why := image.Usable(s.Region)
		must(why == "", "image", "%s", why)
		size = image.Size
	}
	taken := s.swap()
	must(taken >= 0, "swap_size", "Must be 0 or greater")
	if s.BootSize != nil {
		must(s.Image != "", "boot_size", "boot_size needs an image")
		must(*s.BootSize >= size, "boot_size", "Must be at least %d, the size of the image", size)
		taken += *s.BootSize
	} else {
		taken += size
	}
	must(plan.ID == "" || taken <= plan.DiskMiB, "boot_size", "The disks of %d MB do not fit the %d MB of %s", taken,
		plan.DiskMiB, plan.ID)
	must(s.Kernel == "" || strings.HasPrefix(s.Kernel, "linode/"), "kernel", "kernel is not valid")
}

func (s LinodeSpec) swap() int { return ptr.Deref(s.SwapSize, swap) }

// sshKey is the shape of a public key: its kind, the key in base64, and a remark.
var sshKey = regexp.MustCompile(`^(ssh-(dss|rsa|ed25519)|ecdsa-sha2-nistp(256|384|521)|` +
	`sk-ecdsa-sha2-nistp256@openssh\.com|sk-ssh-ed25519@openssh\.com) [A-Za-z0-9+/]+={0,3}( .*)?$`)

// checkKeys: keys are public keys, and users those of the account.
func (s LinodeSpec) checkKeys(c *checker, has *Assets) {
	must := c.must
	for n, key := range s.AuthorizedKeys {
		must(sshKey.MatchString(strings.TrimSpace(key)), fmt.Sprintf("authorized_keys[%d]", n), "SSH Key key-type must be "+
			"one of ssh-dss, ssh-rsa, ecdsa-sha2-nistp, ssh-ed25519, or sk-ecdsa-sha2-nistp256.")
	}
	for _, user := range s.AuthorizedUsers {
		must(has.HasUser(user), "authorized_users", "Username %s is not valid", user)
	}
}

// checkPlace: what the Linode is put behind, into and on is there, and in its region. A firewall has none.
func (s LinodeSpec) checkPlace(c *checker, region catalog.Region, has *Assets) {
	must := c.must
	must(s.FirewallID == 0 || has.Firewall(s.FirewallID) != nil, "firewall_id", "firewall_id is not valid")
	must(!s.BackupsEnabled || region.ID == "" || region.Has("Backups"), "backups_enabled",
		"Backups are not available in region %s", region.ID)
	if s.PlacementGroup != nil {
		group := has.groups[s.PlacementGroup.ID]
		must(group != nil, "placement_group.id", "placement_group.id is not valid")
		if group != nil {
			why := group.Joinable(s.Region)
			must(why == "", "placement_group.id", "%s", why)
		}
	}
	must(s.Generation == "" || s.Generation == legacy, "interface_generation", "%s is not played", s.Generation)
	s.checkInterfaces(c, region, has)
}

// legacy is the generation of the interfaces that are played.
const legacy = "legacy_config"

// checkInterfaces: three at most, one public and one in a VPC, whose subnet is in the region and has the address.
func (s LinodeSpec) checkInterfaces(c *checker, region catalog.Region, has *Assets) {
	must := c.must
	must(len(s.Interfaces) <= 3, "interfaces", "A Linode may have a maximum of 3 interfaces")
	count := map[string]int{}
	for n, i := range s.Interfaces {
		field := fmt.Sprintf("interfaces[%d].", n)
		count[i.Purpose]++
		switch i.Purpose {
		case "public":
		case "vlan":
			must(i.Label != "", field+"label", "label is required")
		case "vpc":
			if i.SubnetID == nil {
				must(false, field+"subnet_id", "subnet_id is required")
				continue
			}
			vpc, subnet := has.Subnet(*i.SubnetID)
			must(subnet != nil, field+"subnet_id", "subnet_id is not valid")
			if subnet == nil {
				continue
			}
			must(vpc.Region == s.Region, field+"subnet_id", "VPC %d is in region %s, not %s", vpc.ID, vpc.Region, s.Region)
			_, free := subnet.Free(i.address())
			must(free, field+"ipv4.vpc", "%s is no free address of %s", cmp.Or(i.address(), "None"), subnet.IPv4)
		default:
			must(false, field+"purpose", "Must be one of public, vlan, vpc")
		}
	}
	must(count["public"] <= 1, "interfaces", "A Linode may have one public interface")
	must(count["vpc"] <= 1, "interfaces", "A Linode may have one VPC interface")
	must(count["vpc"] == 0 || region.ID == "" || region.Has("VPCs"), "interfaces", "VPCs are not available in region %s",
		region.ID)
}

// address is the one that somebody asks for in a VPC.
func (i Interface) address() string { return ptr.Deref(i.IPv4, InterfaceIPv4{}).VPC }
