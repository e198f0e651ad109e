package sim

// This file shows the state as the API does. Views share with the state only lists and maps that are replaced,
// never changed.

import (
	"slices"
	"time"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// formatTime writes a time as the API does: in UTC, without a time zone.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

func (c *cluster) view() Cluster { return c.Cluster }

// view shows a pool at a time, on Enterprise without the nodes that it does not list yet.
func (p *pool) view(now time.Time) Pool {
	return p.show(now, func(sl *slot) bool { return sl.isListed(now) })
}

func (sl *slot) isListed(now time.Time) bool {
	age := now.Sub(sl.listed)
	flickers := sl.flickers && len(sl.pool.slots) > 1 && age >= 20*time.Second && age < 40*time.Second
	return !sl.hidden && age >= 0 && !flickers
}

func (p *pool) show(now time.Time, listed func(*slot) bool) Pool {
	v := p.Pool
	v.Count, v.Nodes = len(p.slots), []Node{}
	if p.staleUntil.After(now) {
		v.Count = p.staleCount
	}
	if p.EnterpriseFields != nil {
		v.EnterpriseFields = new(*p.EnterpriseFields)
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
	if i := sl.instance; i != nil && !i.Vacant {
		n.InstanceID = new(i.ID)
		if !i.joins.After(now) && !i.Down {
			n.Status = "ready"
		}
	}
	return n
}

// view shows a Linode with the keys and constants of the recorded answer.
func (i *instance) view(has *Assets, now time.Time) Instance {
	plan, ofPool := i.Plan, i.slot != nil
	v := Instance{
		ID: i.ID, Label: i.Label, Status: i.status(now), Created: formatTime(i.Created), Updated: formatTime(i.Updated), Type: plan.ID,
		IPv4: []string{i.Address()}, IPv6: i.IPv6() + "/128", Region: i.Region, SiteType: "core",
		Specs: linodego.InstanceSpec{
			Disk: plan.DiskMiB, Memory: plan.MemoryMiB, VCPUs: plan.VCPUs, GPUs: plan.GPUs, Transfer: plan.TransferGB,
			AcceleratedDevices: plan.AcceleratedDevices,
		},
		Alerts: linodego.InstanceAlert{CPU: 90 * plan.VCPUs, NetworkIn: 10, NetworkOut: 10, TransferQuota: 80, IO: 10000},
		Backups: map[string]any{
			"enabled": ofPool || i.BackupsEnabled, "available": ofPool, "last_successful": nil,
			"schedule": map[string]string{"day": "Scheduling", "window": "Scheduling"},
		},
		Hypervisor: "kvm", WatchdogEnabled: true, Tags: slices.Clone(i.Tags), HostUUID: i.HostUUID,
		HasUserData: len(i.UserData) > 0, DiskEncryption: i.DiskEncryption,
		Capabilities:        []string{"Block Storage Encryption", "SMTP Enabled", "Maintenance Policy"},
		InterfaceGeneration: legacy, MaintenancePolicy: "linode/power_off_on", Locks: []string{},
	}
	if i.PrivateIP != "" {
		v.IPv4 = append(v.IPv4, i.PrivateIP)
	}
	if i.Image != "" {
		v.Image = new(i.Image)
	}
	if ofPool {
		v.LKEClusterID = new(i.slot.pool.cluster.ID)
	}
	if group := has.groups[i.GroupID]; group != nil {
		v.PlacementGroup = &linodego.InstancePlacementGroup{
			ID: group.ID, Label: group.Label, PlacementGroupType: linodego.PlacementGroupType(group.Type),
			PlacementGroupPolicy: linodego.PlacementGroupPolicy(group.Policy),
		}
	}
	return v
}

// typeView is a plan as GET /linode/types answers it. The price of backups is not in the catalog; here they are
// free.
type typeView struct {
	catalog.Plan
	Successor *string        `json:"successor"`
	Addons    map[string]any `json:"addons"`
}

func viewType(p catalog.Plan) typeView {
	v := typeView{Plan: p, Addons: map[string]any{
		"backups": map[string]any{"price": catalog.Price{}, "region_prices": catalog.RegionPrices{}},
	}}
	if p.Successor != "" {
		v.Successor = &p.Successor
	}
	return v
}

// regionView is a region as GET /regions answers it. Its limits for placement groups are those of all recorded
// regions.
type regionView struct {
	catalog.Region
	Monitors             map[string][]string `json:"monitors"`
	Resolvers            map[string]string   `json:"resolvers"`
	PlacementGroupLimits map[string]*int     `json:"placement_group_limits"`
}

func viewRegion(r catalog.Region) regionView {
	return regionView{
		Region:    r,
		Monitors:  map[string][]string{"alerts": {}, "metrics": {}},
		Resolvers: map[string]string{"ipv4": "203.0.113.53", "ipv6": "2001:db8::53"},
		PlacementGroupLimits: map[string]*int{
			"maximum_pgs_per_customer": nil, "maximum_linodes_per_pg": new(5), "maximum_linodes_per_flexible_pg": new(5),
		},
	}
}

// listTypes leaves out plans whose size is not in the catalog, because the API has no such plans.
func (st *state) listTypes(q *request) (any, error) {
	plans := slices.DeleteFunc(st.cfg.Catalog.Plans(), func(p catalog.Plan) bool { return !p.Sized() })
	for n := range plans {
		if st.breaks("prices") && plans[n].ID == "g7-premium-2" {
			plans[n].Price.Hourly *= 2
		}
	}
	return listPage(q, viewsOf(plans, viewType))
}

// getAccount shows only the part of an account that decides which plans it can buy.
func (st *state) getAccount(*request) (any, error) {
	return map[string]any{"company": "Example", "capabilities": append([]string{}, st.cfg.Capabilities...)}, nil
}

// listRegions answers GET /regions.
func (st *state) listRegions(q *request) (any, error) {
	return listPage(q, viewsOf(st.cfg.Catalog.Regions(), viewRegion))
}

// listAvailability answers GET /regions/availability.
func (st *state) listAvailability(q *request) (any, error) {
	return listPage(q, st.cfg.Catalog.Availability())
}

// regionAvailability returns the only list of the API without pages. Its rows were seen with and without a region;
// here they have none.
func (st *state) regionAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	rows := []map[string]any{}
	for _, row := range st.cfg.Catalog.Availability() {
		if row.Region == r.ID {
			rows = append(rows, map[string]any{"plan": row.Plan, "available": row.Available})
		}
	}
	return rows, nil
}
