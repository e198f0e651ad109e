package sim

// This file validates requests for Linodes outside of LKE clusters, and their labels.

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/linode/linodego"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// LinodeSpec is the body of a POST of a Linode. Other keys are accepted and have no effect.
type LinodeSpec struct {
	Region          string                                        `json:"region"`
	Type            string                                        `json:"type"`
	Label           string                                        `json:"label"`
	Image           string                                        `json:"image"`
	Tags            []string                                      `json:"tags"`
	RootPass        string                                        `json:"root_pass"`
	AuthorizedKeys  []string                                      `json:"authorized_keys"`
	AuthorizedUsers []string                                      `json:"authorized_users"`
	DiskEncryption  string                                        `json:"disk_encryption"`
	Metadata        *linodego.InstanceMetadataOptions             `json:"metadata"`
	Booted          *bool                                         `json:"booted"`
	BackupsEnabled  bool                                          `json:"backups_enabled"`
	PrivateIP       bool                                          `json:"private_ip"`
	SwapSize        *int                                          `json:"swap_size"` // MB
	BootSize        *int                                          `json:"boot_size"` // MB
	Kernel          string                                        `json:"kernel"`
	FirewallID      int                                           `json:"firewall_id"`
	PlacementGroup  *linodego.InstanceCreatePlacementGroupOptions `json:"placement_group"`
	Interfaces      []Interface                                   `json:"interfaces"`
	Generation      string                                        `json:"interface_generation"`
}

// Interface is a network interface of the older generation, which is a part of a Linode's configuration.
type Interface struct {
	Purpose     string            `json:"purpose"` // public, vlan, vpc
	Label       string            `json:"label,omitempty"`
	IPAMAddress string            `json:"ipam_address,omitempty"`
	Primary     bool              `json:"primary,omitempty"`
	SubnetID    *int              `json:"subnet_id,omitempty"`
	IPv4        *linodego.VPCIPv4 `json:"ipv4,omitempty"`
	IPRanges    []string          `json:"ip_ranges,omitempty"`
	VPCID       int               `json:"vpc_id,omitempty"` // in answers
}

// maxUserData is the largest user data of a Linode in bytes, before base64.
const maxUserData = 16 << 10

// Labels by the API's specification: they begin and end with a letter or a digit, and none of the three separators
// is repeated.
var (
	label   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*[a-zA-Z0-9]$`)
	doubled = regexp.MustCompile(`--|__|\.\.`)
)

// check adds all errors of a spec that do not depend on other Linodes. The rules are those of the API's
// specification; most texts are ours, because none was recorded.
func (s LinodeSpec) check(c *requestChecker, sold *catalog.Catalog, has *Assets) {
	must := c.must
	region, known := sold.Region(s.Region)
	must(s.Region != "", "region", "region is required")
	must(s.Region == "" || known && region.Has("Linodes"), "region", "region is not valid")
	plan, ok := sold.Plan(s.Type)
	must(s.Type != "", "type", "type is required")
	must(s.Type == "" || ok, "type", "A valid plan type by that ID was not found")
	must(!ok || !known || sellsPlan(sold, plan, region), "type", "Plan %s is not available in region %s", s.Type, s.Region)
	must(s.Label == "" || len(s.Label) >= 3 && len(s.Label) <= 64, "label", "Length must be 3-64 characters")
	must(s.Label == "" || label.MatchString(s.Label) && !doubled.MatchString(s.Label), "label",
		"Must begin and end with an alphanumeric character and contain only letters, digits, single -, _ and .")
	must(s.Image == "" || s.RootPass != "" || len(s.AuthorizedKeys)+len(s.AuthorizedUsers) > 0, "root_pass",
		"root_pass is required") // linodego: an image needs one of the three
	checkTags(c, s.Tags)
	must(s.DiskEncryption == "" || s.DiskEncryption == "enabled" || s.DiskEncryption == "disabled", "disk_encryption",
		"Must be one of enabled, disabled")
	s.checkUserData(c, region)
	s.checkDisks(c, plan, has)
	s.checkKeys(c, has)
	s.checkPlace(c, region, has)
}

// checkUserData limits the bytes before base64, as Linode's own Cluster API provider does.
func (s LinodeSpec) checkUserData(c *requestChecker, region catalog.Region) {
	if s.Metadata == nil || s.Metadata.UserData == "" {
		return
	}
	data, err := base64.StdEncoding.DecodeString(s.Metadata.UserData)
	switch {
	case err != nil:
		c.add("metadata.user_data", "Must be valid Base64")
	case len(data) > maxUserData:
		c.add("metadata.user_data", "Must be at most %d bytes", maxUserData)
	case region.ID != "" && !region.Has("Metadata"):
		c.add("metadata", "Metadata is not available in region %s", region.ID)
	}
}

// sellsPlan reports whether a region has a plan on its price list, including nanodes, which LKE does not accept.
func sellsPlan(c *catalog.Catalog, plan catalog.Plan, region catalog.Region) bool {
	return region.Has(plan.Gate()) && c.InStock(plan.ID, region.ID)
}

// userData returns the decoded user data.
func (s LinodeSpec) userData() []byte {
	if s.Metadata == nil {
		return nil
	}
	data, _ := base64.StdEncoding.DecodeString(s.Metadata.UserData) // it was validated
	return data
}

// boots reports whether the Linode boots: not without an image, or if the request has booted: false.
func (s LinodeSpec) boots() bool { return s.Image != "" && (s.Booted == nil || *s.Booted) }

// encryption returns the disk encryption: new Linodes have encrypted disks by default, as recorded.
func (s LinodeSpec) encryption() string { return cmp.Or(s.DiskEncryption, "enabled") }

// swap is the default size of a Linode's swap disk in MB, as documented.
const swap = 512

// checkDisks checks that the image exists and is ready in the region, and that the disks fit the plan. The second
// rule, and the list of kernels, are assumptions.
func (s LinodeSpec) checkDisks(c *requestChecker, plan catalog.Plan, has *Assets) {
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

// sshKey matches a public key: its type, the key in base64, and a comment.
var sshKey = regexp.MustCompile(`^(ssh-(dss|rsa|ed25519)|ecdsa-sha2-nistp(256|384|521)|` +
	`sk-ecdsa-sha2-nistp256@openssh\.com|sk-ssh-ed25519@openssh\.com) [A-Za-z0-9+/]+={0,3}( .*)?$`)

// checkKeys checks that keys are public keys, and users belong to the account.
func (s LinodeSpec) checkKeys(c *requestChecker, has *Assets) {
	must := c.must
	for n, key := range s.AuthorizedKeys {
		must(sshKey.MatchString(strings.TrimSpace(key)), fmt.Sprintf("authorized_keys[%d]", n), "SSH Key key-type must be "+
			"one of ssh-dss, ssh-rsa, ecdsa-sha2-nistp, ssh-ed25519, or sk-ecdsa-sha2-nistp256.")
	}
	for _, user := range s.AuthorizedUsers {
		must(has.HasUser(user), "authorized_users", "Username %s is not valid", user)
	}
}

// checkPlace checks that the firewall, the VPC and the placement group exist, and are in the Linode's region. A
// firewall has no region.
func (s LinodeSpec) checkPlace(c *requestChecker, region catalog.Region, has *Assets) {
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

// legacy is the only simulated generation of interfaces.
const legacy = "legacy_config"

// checkInterfaces allows at most three interfaces, one of them public and one in a VPC, whose subnet must be in the
// region and have the address free.
func (s LinodeSpec) checkInterfaces(c *requestChecker, region catalog.Region, has *Assets) {
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

// address returns the requested address in a VPC.
func (i Interface) address() string { return ptr.Deref(i.IPv4, linodego.VPCIPv4{}).VPC }
