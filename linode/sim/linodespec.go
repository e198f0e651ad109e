package sim

// The Linodes of an account that no LKE cluster has made: what may be ordered, and whose label is
// taken.

import (
	"cmp"
	"encoding/base64"
	"regexp"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// LinodeSpec is what a POST says about a Linode. Keys that are not here are taken and have no effect.
type LinodeSpec struct {
	Region          string          `json:"region"`
	Type            string          `json:"type"`
	Label           string          `json:"label"`
	Image           string          `json:"image"`
	Tags            []string        `json:"tags"`
	RootPass        string          `json:"root_pass"`
	AuthorizedKeys  []string        `json:"authorized_keys"`
	AuthorizedUsers []string        `json:"authorized_users"`
	DiskEncryption  string          `json:"disk_encryption"`
	Metadata        *Metadata       `json:"metadata"`
	Booted          *bool           `json:"booted"`
	BackupsEnabled  bool            `json:"backups_enabled"`
	PrivateIP       bool            `json:"private_ip"`
	SwapSize        *int            `json:"swap_size"` // MB
	BootSize        *int            `json:"boot_size"` // MB
	Kernel          string          `json:"kernel"`
	FirewallID      int             `json:"firewall_id"`
	PlacementGroup  *PlacementGroup `json:"placement_group"`
	Interfaces      []Interface     `json:"interfaces"`
	Generation      string          `json:"interface_generation"`
}

// Metadata is what a Linode can read of itself.
type Metadata struct {
	UserData string `json:"user_data"` // base64
}

// PlacementGroup is the group that a Linode is made in.
type PlacementGroup struct {
	ID            int   `json:"id"`
	CompliantOnly *bool `json:"compliant_only"`
}

// Interface is a network interface of the older generation, which belongs to a Linode's configuration.
type Interface struct {
	Purpose     string         `json:"purpose"` // public, vlan, vpc
	Label       string         `json:"label,omitempty"`
	IPAMAddress string         `json:"ipam_address,omitempty"`
	Primary     bool           `json:"primary,omitempty"`
	SubnetID    *int           `json:"subnet_id,omitempty"`
	IPv4        *InterfaceIPv4 `json:"ipv4,omitempty"`
	IPRanges    []string       `json:"ip_ranges,omitempty"`
	VPCID       int            `json:"vpc_id,omitempty"` // in answers
}

// InterfaceIPv4 is an interface's address in a VPC.
type InterfaceIPv4 struct {
	VPC     string  `json:"vpc,omitempty"`
	NAT1To1 *string `json:"nat_1_1,omitempty"` // the public address behind it; "any" asks for one
}

// maxUserData is how many bytes of user data a Linode may have, before base64.
const maxUserData = 16 << 10

// What the API's specification says of labels: they begin and end with a letter or a digit, and none of the three
// separators comes twice in a row.
var (
	label   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*[a-zA-Z0-9]$`)
	doubled = regexp.MustCompile(`--|__|\.\.`)
)

// check names all that is wrong with a spec, whatever other Linodes there are. Rules are those of the API's
// specification; most texts are ours, as nobody recorded them.
func (s LinodeSpec) check(c *checker, sold *catalog.Catalog, has *Assets) {
	must := c.must
	region, known := sold.Region(s.Region)
	must(s.Region != "", "region", "region is required")
	must(s.Region == "" || known && region.Has("Linodes"), "region", "region is not valid")
	plan, ok := sold.Plan(s.Type)
	must(s.Type != "", "type", "type is required")
	must(s.Type == "" || ok, "type", "A valid plan type by that ID was not found")
	must(!ok || !known || sells(sold, plan, region), "type", "Plan %s is not available in region %s", s.Type, s.Region)
	must(s.Label == "" || len(s.Label) >= 3 && len(s.Label) <= 64, "label", "Length must be 3-64 characters")
	must(s.Label == "" || label.MatchString(s.Label) && !doubled.MatchString(s.Label), "label",
		"Must begin and end with an alphanumeric character and contain only letters, digits, single -, _ and .")
	must(s.Image == "" || s.RootPass != "" || len(s.AuthorizedKeys)+len(s.AuthorizedUsers) > 0, "root_pass",
		"root_pass is required") // linodego: an image needs one of the three
	for _, tag := range s.Tags {
		must(len(tag) >= 3 && len(tag) <= 50, "tags", "Length must be 3-50 characters")
	}
	must(s.DiskEncryption == "" || s.DiskEncryption == "enabled" || s.DiskEncryption == "disabled", "disk_encryption",
		"Must be one of enabled, disabled")
	s.checkUserData(c, region)
	s.checkDisks(c, plan, has)
	s.checkKeys(c, has)
	s.checkPlace(c, region, has)
}

// checkUserData: that the limit counts what is sent before base64 is how Linode's own Cluster API provider reads it.
func (s LinodeSpec) checkUserData(c *checker, region catalog.Region) {
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

// sells says whether a region has a plan on its price list; a nanode, too, which LKE does not take.
func sells(c *catalog.Catalog, plan catalog.Plan, region catalog.Region) bool {
	return region.Has(plan.Gate()) && c.InStock(plan.ID, region.ID)
}

// userData is what the Linode reads.
func (s LinodeSpec) userData() []byte {
	if s.Metadata == nil {
		return nil
	}
	data, _ := base64.StdEncoding.DecodeString(s.Metadata.UserData) // checked
	return data
}

// boots: nothing boots without an image, or where the request says so.
func (s LinodeSpec) boots() bool { return s.Image != "" && (s.Booted == nil || *s.Booted) }

// encryption: new Linodes have encrypted disks where nothing is said, as recorded.
func (s LinodeSpec) encryption() string { return cmp.Or(s.DiskEncryption, "enabled") }
