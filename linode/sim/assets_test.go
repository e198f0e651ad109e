package sim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/linode/linodego"
)

// furnished is an account that has some of everything.
func furnished(t *testing.T, cfg Config) *account {
	t.Helper()
	cfg.Assets = AssetSet{
		Images: []Image{
			{ID: "private/1", Label: "golden", Tags: []string{"team=a"}},
			{ID: "private/2", Label: "new", Status: "creating"},
			{
				ID: "private/3", Label: "regional",
				Regions: []linodego.ImageRegion{{Region: "us-sea", Status: "available"}, {Region: "us-ord", Status: "replicating"}},
			},
			{ID: "private/4", Label: "bare", Capabilities: []string{}},
			{ID: "private/5", Label: "large", Size: 200_000},
		},
		Firewalls: []Firewall{{ID: 11, Label: "nodes", Tags: []string{"team=a"}}, {ID: 12, Label: "others"}},
		VPCs: []VPC{
			{ID: 21, Label: "main", Region: "us-ord", Subnets: []Subnet{
				{ID: 31, Label: "a", IPv4: "10.0.0.0/29"}, {ID: 32, Label: "b", IPv4: "10.0.1.0/24"},
			}},
			{ID: 22, Label: "main", Region: "us-sea", Subnets: []Subnet{{ID: 33}}},
		},
		Groups: []Placement{{ID: 41, Label: "spread", Region: "us-ord"}, {ID: 42, Label: "far", Region: "us-sea"}},
		Users:  []string{"ada"},
	}
	return newAccount(t, cfg)
}

const anyKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzDqO0c ada@laptop"

// TestLinodeHasTheRequestedSpec: each field with its effect.
func TestLinodeHasTheRequestedSpec(t *testing.T) {
	vpc := func(more fields) []fields {
		i := fields{"purpose": "vpc", "subnet_id": 31}
		for key, value := range more {
			i[key] = value
		}
		return []fields{{"purpose": "public"}, i}
	}
	for _, tc := range []struct {
		name    string
		request fields
		want    Linode // but for what all have
		shows   string // a part of what the API says of it
	}{
		{"nothing more", nil, Linode{}, `"placement_group":null`},
		{"a private image", fields{"image": "private/1"}, Linode{Image: "private/1"}, `"image":"private/1"`},
		{"keys", fields{"authorized_keys": []string{anyKey}}, Linode{AuthorizedKeys: []string{anyKey}}, ""},
		{
			"users", fields{"authorized_users": []string{"ada"}, "authorized_keys": nil},
			Linode{AuthorizedUsers: []string{"ada"}}, "",
		},
		{"backups", fields{"backups_enabled": true}, Linode{BackupsEnabled: true}, `"enabled":true`},
		{"swap", fields{"swap_size": 1024}, Linode{SwapSize: 1024}, ""},
		{"no swap", fields{"swap_size": 0}, Linode{SwapSize: -1}, ""},
		{"disks", fields{"boot_size": 20_000}, Linode{BootSize: 20_000}, ""},
		{"kernel", fields{"kernel": "linode/grub2"}, Linode{Kernel: "linode/grub2"}, ""},
		{"firewall", fields{"firewall_id": 11}, Linode{FirewallID: 11}, ""},
		{
			"no encryption", fields{"disk_encryption": "disabled"}, Linode{DiskEncryption: "disabled"},
			`"disk_encryption":"disabled"`,
		},
		{"private address", fields{"private_ip": true}, Linode{PrivateIP: "192.168."}, `,"192.168.`},
		{
			"placement group", fields{"placement_group": fields{"id": 41}}, Linode{GroupID: 41},
			`"placement_group":{"id":41,"label":"spread","placement_group_type":"anti_affinity:local",` +
				`"placement_group_policy":"strict","migrating_to":null}`,
		},
		{
			"VPC", fields{"interfaces": vpc(nil)}, Linode{Interfaces: []Interface{
				{Purpose: "public"},
				{Purpose: "vpc", SubnetID: new(31), VPCID: 21, IPv4: &linodego.VPCIPv4{VPC: "10.0.0.2"}},
			}}, "",
		},
		{
			"address in the VPC", fields{"interfaces": vpc(fields{"primary": true, "ipv4": fields{"vpc": "10.0.0.5"}})},
			Linode{Interfaces: []Interface{
				{Purpose: "public"},
				{Purpose: "vpc", SubnetID: new(31), VPCID: 21, Primary: true, IPv4: &linodego.VPCIPv4{VPC: "10.0.0.5"}},
			}}, "",
		},
	} {
		a := furnished(t, Config{})
		made := a.buy("prod-a", tc.request)
		got, want := a.Linodes()[0], tc.want
		if want.Image == "" {
			want.Image = "linode/debian12"
		}
		if want.DiskEncryption == "" {
			want.DiskEncryption = "enabled"
		}
		if want.AuthorizedKeys == nil && want.AuthorizedUsers == nil {
			want.AuthorizedKeys = []string{"ssh-ed25519 AAAA"}
		}
		want.SwapSize = map[int]int{0: 512, -1: 0, 1024: 1024}[want.SwapSize]
		if want.PrivateIP != "" && strings.HasPrefix(got.PrivateIP, want.PrivateIP) {
			want.PrivateIP = got.PrivateIP
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Linode{}, "ID", "Label", "Region", "Plan", "Type", "Tags",
			"HostUUID", "Created", "Updated", "Runs")); d != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, d)
		}
		if shown, _ := json.Marshal(made); !strings.Contains(string(shown), tc.shows) {
			t.Errorf("%s: no %s in %s", tc.name, tc.shows, shown)
		}
	}
}

// TestInvalidLinodeSpecs: what is not there, is elsewhere, is not ready, or does not fit.
func TestInvalidLinodeSpecs(t *testing.T) {
	on := func(i ...fields) fields { return fields{"interfaces": i} }
	in := func(group int) fields { return fields{"placement_group": fields{"id": group}} }
	vpc := func(subnet int) fields { return fields{"purpose": "vpc", "subnet_id": subnet} }
	for _, tc := range []struct {
		name    string
		request fields
		want    string
	}{
		{"no such image", fields{"image": "linode/none"}, "image: image is not valid"},
		{"no such private image", fields{"image": "private/9"}, "image: image is not valid"},
		{"an image that is made", fields{"image": "private/2"}, "image: Image private/2 is not available: its status is c"},
		{"an image elsewhere", fields{"image": "private/3"}, "image: Image private/3 is not available in region us-ord"},
		{
			"a large image", fields{"image": "private/5"},
			"boot_size: The disks of 200512 MB do not fit the 163840 MB of g6-standard-4",
		},
		{"a small disk", fields{"boot_size": 10}, "boot_size: Must be at least 1500, the size of the image"},
		{"a large disk", fields{"boot_size": 163_840}, "boot_size: The disks of 164352 MB do not fit"},
		{"a disk without an image", fields{"image": nil, "boot_size": 10}, "boot_size: boot_size needs an image"},
		{"swap", fields{"swap_size": -1}, "swap_size: Must be 0 or greater"},
		{"kernel", fields{"kernel": "5.10"}, "kernel: kernel is not valid"},
		{"a key", fields{"authorized_keys": []string{anyKey, "AAAA"}}, "authorized_keys[1]: SSH Key key-type must be one"},
		{"a private key", fields{"authorized_keys": []string{"-----BEGIN OPENSSH"}}, "authorized_keys[0]: SSH Key"},
		{"nobody", fields{"authorized_users": []string{"eve"}}, "authorized_users: Username eve is not valid"},
		{"no such firewall", fields{"firewall_id": 13}, "firewall_id: firewall_id is not valid"},
		{"no such group", in(43), "placement_group.id: placement_group.id is not valid"},
		{"a group elsewhere", in(42), "placement_group.id: Placement group 42 is in region us-sea"},
		{"no such subnet", on(vpc(39)), "interfaces[0].subnet_id: subnet_id is not valid"},
		{"no subnet", on(fields{"purpose": "vpc"}), "interfaces[0].subnet_id: subnet_id is required"},
		{"a VPC elsewhere", on(vpc(33)), "interfaces[0].subnet_id: VPC 22 is in region us-sea"},
		{
			"an address elsewhere", on(fields{"purpose": "vpc", "subnet_id": 31, "ipv4": fields{"vpc": "10.0.1.5"}}),
			"interfaces[0].ipv4.vpc: 10.0.1.5 is no free address of 10.0.0.0/29",
		},
		{"two VPCs", on(vpc(31), vpc(32)), "interfaces: A Linode may have one VPC"},
		{
			"two public ones", on(fields{"purpose": "public"}, fields{"purpose": "public"}),
			"interfaces: A Linode may have one public interface",
		},
		{"an interface for nothing", on(fields{}), "interfaces[0].purpose: Must be one of public, vlan, vpc"},
		{"the newer interfaces", fields{"interface_generation": "linode"}, "interface_generation: linode is not played"},
		{
			"no VPCs here", fields{"region": "us-east", "interfaces": []fields{vpc(31)}},
			"interfaces[0].subnet_id: VPC 21 is in region us-ord, not us-east; interfaces: VPCs are not available in region",
		},
	} {
		a := furnished(t, Config{})
		got := a.refused("POST", "/linode/instances", order("prod-a", tc.request))
		if !strings.HasPrefix(got, "400 "+tc.want) {
			t.Errorf("%s: %q; want %q", tc.name, got, tc.want)
		}
		if len(a.Linodes()) != 0 {
			t.Errorf("%s: it is made", tc.name)
		}
	}
}

// TestAPlacementGroupIsFullWithFive: until one of them is gone.
func TestAPlacementGroupIsFullWithFive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := furnished(t, Config{DeleteDelay: time.Minute})
		in := fields{"placement_group": fields{"id": 41}}
		first := a.buy("prod-0", in)
		for n := range 4 {
			a.buy(fmt.Sprint("prod-", n+1), in)
		}
		const full = "400 placement_group.id: Placement group 41 is full: it has 5 Linodes"
		if got := a.refused("POST", "/linode/instances", order("prod-5", in)); got != full {
			t.Errorf("the sixth: %q", got)
		}
		a.do("DELETE", fmt.Sprintf("/linode/instances/%d", first.ID), nil, nil)
		if got := a.refused("POST", "/linode/instances", order("prod-5", in)); got != full {
			t.Errorf("while one goes: %q", got)
		}
		time.Sleep(time.Minute)
		last := a.buy("prod-5", in)
		var group Placement
		a.do("GET", "/placement/groups/41", nil, &group)
		newest := linodego.PlacementGroupMember{LinodeID: last.ID, IsCompliant: true}
		if len(group.Members) != 5 || group.Members[4] != newest || !group.Compliant {
			t.Errorf("%+v", group)
		}
		if got := a.refused("DELETE", "/placement/groups/41", nil); !strings.HasPrefix(got, "400 Placement group has") {
			t.Errorf("deleted: %q", got)
		}
		a.do("DELETE", "/placement/groups/42", nil, nil)
		if got := a.refused("GET", "/placement/groups/42", nil); got != "404 Not found" {
			t.Errorf("it is there: %q", got)
		}
	})
}

func TestAPlacementGroupIsMadeOnRequest(t *testing.T) {
	a := furnished(t, Config{})
	good := func(more fields) fields {
		request := fields{
			"label": "more", "region": "us-ord", "placement_group_type": "anti_affinity:local",
			"placement_group_policy": "flexible",
		}
		for key, value := range more {
			request[key] = value
		}
		return request
	}
	var made Placement
	a.do("POST", "/placement/groups", good(nil), &made)
	if made.ID == 0 || made.Policy != "flexible" || len(made.Members) != 0 || !made.Compliant {
		t.Errorf("%+v", made)
	}
	a.buy("prod-a", fields{"placement_group": fields{"id": made.ID}})
	for want, request := range map[string]fields{
		"label: Label must be unique":                                 nil,
		"region: region is not valid":                                 {"label": "other", "region": "us-mars"},
		"placement_group_type: Must be one of anti_affinity:local":    {"label": "other", "placement_group_type": "affinity"},
		"placement_group_policy: Must be one of strict, flexible":     {"label": "other", "placement_group_policy": nil},
		"label: Must begin and end with an alphanumeric character an": {"label": ""},
		"label: Must begin and end with an alphanumeric character":    {"label": "more-"},
		"label: Must begin and end with":                              {"label": strings.Repeat("a", 33)},
	} {
		if got := a.refused("POST", "/placement/groups", good(request)); !strings.HasPrefix(got, "400 "+want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// TestAddressesInASubnetAreOnceEach: and are free again when their Linode is gone.
func TestAddressesInASubnetAreOnceEach(t *testing.T) {
	a := furnished(t, Config{})
	on := fields{"interfaces": []fields{{"purpose": "vpc", "subnet_id": 31}}}
	first := a.buy("prod-0", on)
	for n := range 4 {
		a.buy(fmt.Sprint("prod-", n+1), on)
	}
	var vpcs page[VPC]
	a.do("GET", "/vpcs", nil, &vpcs)
	if subnet := vpcs.Data[0].Subnets[0]; len(subnet.Linodes) != 5 || subnet.Linodes[0].ID != first.ID {
		t.Errorf("%+v", subnet)
	}
	const none = "400 interfaces[0].ipv4.vpc: None is no free address of 10.0.0.0/29"
	if got := a.refused("POST", "/linode/instances", order("prod-5", on)); got != none {
		t.Errorf("the sixth: %q", got)
	}
	a.LoseInstance(first.ID, false)
	a.buy("prod-5", on)
	var addresses []string
	for _, l := range a.Linodes() {
		addresses = append(addresses, l.Interfaces[0].IPv4.VPC)
	}
	if got := strings.Join(addresses, " "); got != "10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.2" {
		t.Errorf("addresses %s", got)
	}
}

// TestAccountObjectsAreListed: with the filters that the product sends.
func TestAccountObjectsAreListed(t *testing.T) {
	a := furnished(t, Config{})
	for _, tc := range []struct{ path, filter, want string }{
		{"/images", `{"is_public":false}`, "private/1 private/2 private/3 private/4 private/5"},
		{"/images", `{"label":"Debian 12"}`, "linode/debian12"},
		{"/images", `{"label":"golden","is_public":false}`, "private/1"},
		{"/images", `{"tags":"team=a"}`, "private/1"},
		{"/images", `{"id":"linode/ubuntu24.04"}`, "linode/ubuntu24.04"},
		{"/images", `{"deprecated":true}`, "linode/centos8"},
		{"/images", `{"status":"creating"}`, "private/2"},
		{"/images", `{"region":"us-ord"}`, "400"},
		{"/networking/firewalls", `{"label":"nodes"}`, "11"},
		{"/networking/firewalls", `{"tags":"team=a"}`, "11"},
		{"/networking/firewalls", ``, "11 12"},
		{"/vpcs", `{"label":"main","region":"us-sea"}`, "22"},
		{"/placement/groups", `{"label":"spread"}`, "41"},
		{"/placement/groups", `{"region":"us-sea"}`, "42"},
	} {
		res, body := a.get("/v4"+tc.path, map[string]string{"X-Filter": tc.filter})
		var p page[struct{ ID any }]
		_ = json.Unmarshal([]byte(body), &p)
		got := []string{}
		for _, row := range p.Data {
			got = append(got, fmt.Sprint(row.ID))
		}
		if res.StatusCode != http.StatusOK {
			got = []string{fmt.Sprint(res.StatusCode)}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s %s: %v; want %s", tc.path, tc.filter, got, tc.want)
		}
	}
}

func TestFindByLabel(t *testing.T) {
	a := furnished(t, Config{})
	for path, want := range map[string]string{
		"/images/linode/debian12":       `"capabilities":["cloud-init"]`,
		"/images/linode%2Fdebian12":     `"id":"linode/debian12"`, // as linodego spells it
		"/images/linode/slackware15.0":  `"capabilities":[]`,
		"/images/private%2F3":           `"regions":[{"region":"us-sea","status":"available"},`,
		"/networking/firewalls/11":      `"label":"nodes"`,
		"/vpcs":                         `"subnets":[{"id":31,"label":"a","ipv4":"10.0.0.0/29"`,
		"/placement/groups/41":          `"placement_group_type":"anti_affinity:local","placement_group_policy":"strict"`,
		"/images/linode/none":           `"Not found"`,
		"/networking/firewalls/13":      `"Not found"`,
		"/placement/groups/nonsense":    `"Not found"`,
		"/networking/firewalls/11/more": `"Not found"`,
	} {
		if _, body := a.get("/v4"+path, nil); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	// In an account without configured assets, every number is a firewall's.
	if got := newAccount(t, Config{}); got.attempt("prod-a") != "" {
		t.Error("no Linode")
	}
	newAccount(t, Config{}).buy("prod-a", fields{"firewall_id": 13})
}

// TestTagsOfALinodeChangeInPlace: a PUT has all tags, and no others stay.
func TestTagsOfALinodeChangeInPlace(t *testing.T) {
	a := furnished(t, Config{})
	made := a.buy("prod-a", nil)
	a.buy("prod-b", nil)
	path := fmt.Sprintf("/linode/instances/%d", made.ID)
	var got Instance
	a.do("PUT", path, fields{"tags": []string{"team=b", "lkeplan-cluster=prod", "team=b"}}, &got)
	want := []string{"lkeplan-cluster=prod", "team=b"}
	if !slices.Equal(got.Tags, want) || !slices.Equal(a.Linodes()[0].Tags, want) {
		t.Errorf("tags %v", got.Tags)
	}
	a.do("PUT", path, fields{"label": "prod-c"}, &got)
	if got.Label != "prod-c" || len(got.Tags) != 2 {
		t.Errorf("%s with %v", got.Label, got.Tags)
	}
	for want, change := range map[string]fields{
		"400 tags: Length must be 3-50 characters": {"tags": []string{"ab"}}, duplicate: {"label": "prod-b"},
	} {
		if said := a.refused("PUT", path, change); said != want {
			t.Errorf("%v: %q", change, said)
		}
	}
	pool := a.makePool(1, nil)
	path = fmt.Sprintf("/linode/instances/%d", *a.pool(pool.ID).Nodes[0].InstanceID)
	a.do("PUT", path, fields{"tags": []string{"mine"}}, &got)
	if !slices.Equal(got.Tags, []string{"mine"}) {
		t.Errorf("of a pool: %v", got.Tags)
	}
}

// TestAnImageWithoutCloudInitReadsNothing: the API still accepts user data.
func TestAnImageWithoutCloudInitReadsNothing(t *testing.T) {
	a := furnished(t, Config{})
	for _, image := range []string{"private/4", "linode/slackware15.0"} {
		a.buy(strings.ReplaceAll(image, "/", "-"), fields{
			"image": image, "metadata": fields{"user_data": base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))},
		})
	}
	for _, l := range a.Linodes() {
		if !l.Idle || l.Join.Problem != "image "+l.Image+" has no cloud-init: nothing reads user data" {
			t.Errorf("%+v", l.Join)
		}
	}
}

// TestAssetsAreAddedByTheControlAPI: for tests that run the simulator as a process.
func TestAssetsAreAddedByTheControlAPI(t *testing.T) {
	a := furnished(t, Config{})
	set := `{"images":[{"label":"golden 2"}],"vpcs":[{"label":"new","region":"us-ord","subnets":[{"label":"s"}]}]}`
	res, err := a.Client().Post("http://linode.test/simulator/assets", "application/json", strings.NewReader(set))
	if err != nil {
		t.Fatal(err)
	}
	var added AssetSet
	if err := json.NewDecoder(res.Body).Decode(&added); err != nil {
		t.Fatal(err)
	}
	a.buy("prod-a", fields{
		"image": added.Images[0].ID, "interfaces": []fields{{"purpose": "vpc", "subnet_id": added.VPCs[0].Subnets[0].ID}},
	})
	res, err = a.Client().Post("http://linode.test/simulator/assets", "application/json", strings.NewReader(`{"foo":1}`))
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("%v %v", res, err)
	}
}
