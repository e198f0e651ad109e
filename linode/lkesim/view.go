package lkesim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// This file shows the state as the API does. Views share nothing with the state.

// stamp writes a time as the API does: UTC, without saying so.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

func (c *cluster) view() Cluster {
	return Cluster{
		ID: c.id, Status: "ready", Created: stamp(c.created), Updated: stamp(c.updated), Label: c.label,
		Region: c.region, KubernetesVersion: c.version, Tier: string(c.tier),
		ControlPlane: ControlPlane{HighAvailability: c.ha},
		Tags:         append([]string{}, c.tags...), Locks: []string{},
	}
}

// view shows a pool as of now: on Enterprise without the nodes that it does not list yet.
func (p *pool) view(now time.Time) Pool {
	return p.show(now, func(sl *slot) bool { return !sl.listed.After(now) })
}

func (p *pool) show(now time.Time, listed func(*slot) bool) Pool {
	v := Pool{
		ID: p.id, Type: p.plan.ID, Label: p.label, Count: len(p.slots), Nodes: []Node{},
		Disks: append([]Disk{}, p.disks...), Autoscaler: p.autoscaler,
		Labels: maps.Clone(p.labels), Taints: append([]Taint{}, p.taints...), Tags: append([]string{}, p.tags...),
		DiskEncryption: p.encryption, Locks: append([]string{}, p.locks...),
	}
	if p.enterprise != nil {
		copied := *p.enterprise
		v.EnterpriseFields = &copied
	}
	for _, sl := range p.slots {
		if listed(sl) {
			v.Nodes = append(v.Nodes, sl.view(now))
		}
	}
	return v
}

func (sl *slot) view(now time.Time) Node {
	n := Node{ID: sl.id, Status: "not_ready"}
	if i := sl.instance; i != nil {
		id := i.id
		n.InstanceID = &id
		if !i.joins.After(now) {
			n.Status = "ready"
		}
	}
	return n
}

// view shows an instance with the keys and the constants of the recorded answer.
func (i *instance) view(now time.Time) Instance {
	p := i.slot.pool
	address := i.id % 65_000
	return Instance{
		ID: i.id, Label: i.label, Status: i.status(now), Created: stamp(i.created), Updated: stamp(i.updated),
		Type:   p.plan.ID,
		IPv4:   []string{fmt.Sprintf("203.0.113.%d", 1+address%254), i.privateIP()},
		IPv6:   fmt.Sprintf("2001:db8::%x/128", i.id),
		Region: p.cluster.region, SiteType: "core",
		Specs: Specs{
			Disk: p.plan.DiskMiB, Memory: p.plan.MemoryMiB, VCPUs: p.plan.VCPUs, GPUs: p.plan.GPUs,
			Transfer: p.plan.TransferGB, AcceleratedDevices: p.plan.AcceleratedDevices,
		},
		Alerts: Alerts{CPU: 90 * p.plan.VCPUs, NetworkIn: 10, NetworkOut: 10, TransferQuota: 80, IO: 10000},
		Backups: Backups{
			Enabled: true, Available: true, Schedule: BackupSchedule{Day: "Scheduling", Window: "Scheduling"},
		},
		Hypervisor: "kvm", WatchdogEnabled: true, Tags: slices.Clone(i.tags), HostUUID: i.hostUUID,
		DiskEncryption: p.encryption, LKEClusterID: p.cluster.id,
		Capabilities:        []string{"Block Storage Encryption", "SMTP Enabled", "Maintenance Policy"},
		InterfaceGeneration: "legacy_config", MaintenancePolicy: "linode/power_off_on", Locks: []string{},
	}
}

// privateIP is unique among any 15,000 instances in a row.
func (i *instance) privateIP() string {
	n := i.id % 15_000
	return fmt.Sprintf("192.168.%d.%d", 128+n/250, 1+n%250)
}

// status goes from offline, which is recorded for the first moments, over booting to running, which is an assumption as
// is what an instance says while it is deleted.
func (i *instance) status(now time.Time) string {
	switch {
	case !i.gone.IsZero():
		return "deleting"
	case !i.joins.After(now):
		return "running"
	case now.Sub(i.created) < i.joins.Sub(i.created)/4:
		return "offline"
	default:
		return "booting"
	}
}

// typeView is a plan as GET /linode/types answers it. What backups cost is not in the catalog; they are for free here.
type typeView struct {
	ID                 string            `json:"id"`
	Label              string            `json:"label"`
	Price              catalog.Price     `json:"price"`
	RegionPrices       []regionPriceView `json:"region_prices"`
	Addons             addonsView        `json:"addons"`
	Memory             int               `json:"memory"`
	Disk               int               `json:"disk"`
	Transfer           int               `json:"transfer"`
	VCPUs              int               `json:"vcpus"`
	GPUs               int               `json:"gpus"`
	AcceleratedDevices int               `json:"accelerated_devices"`
	NetworkOut         int               `json:"network_out"`
	Class              string            `json:"class"`
	Successor          *string           `json:"successor"`
}

type regionPriceView struct {
	ID string `json:"id"`
	catalog.Price
}

type addonsView struct {
	Backups backupsView `json:"backups"`
}

type backupsView struct {
	Price        catalog.Price     `json:"price"`
	RegionPrices []regionPriceView `json:"region_prices"`
}

func viewType(p catalog.Plan) typeView {
	v := typeView{
		ID: p.ID, Label: p.Label, Price: p.Price, RegionPrices: []regionPriceView{}, Memory: p.MemoryMiB, Disk: p.DiskMiB,
		Transfer: p.TransferGB, VCPUs: p.VCPUs, GPUs: p.GPUs, AcceleratedDevices: p.AcceleratedDevices,
		NetworkOut: p.NetworkOutMbps, Class: p.Class,
	}
	v.Addons.Backups.RegionPrices = []regionPriceView{}
	if p.Successor != "" {
		v.Successor = &p.Successor
	}
	for _, region := range slices.Sorted(maps.Keys(p.RegionPrices)) {
		v.RegionPrices = append(v.RegionPrices, regionPriceView{ID: region, Price: p.RegionPrices[region]})
	}
	return v
}

// regionView is a region as GET /regions answers it; its limits for placement groups are those of all recorded ones.
type regionView struct {
	ID                   string              `json:"id"`
	Label                string              `json:"label"`
	Country              string              `json:"country"`
	Capabilities         []string            `json:"capabilities"`
	Monitors             map[string][]string `json:"monitors"`
	Status               string              `json:"status"`
	Resolvers            map[string]string   `json:"resolvers"`
	PlacementGroupLimits map[string]*int     `json:"placement_group_limits"`
	SiteType             string              `json:"site_type"`
}

func viewRegion(r catalog.Region) regionView {
	five := 5
	return regionView{
		ID: r.ID, Label: r.Label, Country: r.Country, Capabilities: append([]string{}, r.Capabilities...),
		Monitors:  map[string][]string{"alerts": {}, "metrics": {}},
		Status:    r.Status,
		Resolvers: map[string]string{"ipv4": "203.0.113.53", "ipv6": "2001:db8::53"},
		PlacementGroupLimits: map[string]*int{
			"maximum_pgs_per_customer": nil, "maximum_linodes_per_pg": &five, "maximum_linodes_per_flexible_pg": &five,
		},
		SiteType: r.SiteType,
	}
}
