package sim

// This file shows the state as the API does. Views share with it only lists and maps that are replaced, never changed.

import (
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// stamp writes a time as the API does: UTC, without saying so.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

func (c *cluster) view() Cluster { return c.Cluster }

// view shows a pool as of now: on Enterprise without the nodes that it does not list yet.
func (p *pool) view(now time.Time) Pool {
	return p.show(now, func(sl *slot) bool { return sl.shown(now) })
}

func (sl *slot) shown(now time.Time) bool { return !sl.hidden && !sl.listed.After(now) }

func (p *pool) show(now time.Time, listed func(*slot) bool) Pool {
	v := p.Pool
	v.Count, v.Nodes = len(p.slots), []Node{}
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
	if i := sl.instance; i != nil {
		n.InstanceID = new(i.id)
		if !i.joins.After(now) {
			n.Status = "ready"
		}
	}
	return n
}

// view shows an instance with the keys and the constants of the recorded answer.
func (i *instance) view(now time.Time) Instance {
	p := i.slot.pool
	v := baseView(i.id, p.plan)
	v.Label, v.Status, v.Created, v.Updated = i.slot.name, i.status(now), stamp(i.created), stamp(i.updated)
	v.Region, v.Tags, v.HostUUID = p.cluster.Region, slices.Clone(i.tags), i.hostUUID
	v.IPv4 = append(v.IPv4, i.privateIP())
	v.DiskEncryption, v.LKEClusterID = p.DiskEncryption, new(p.cluster.ID)
	return v
}

// viewOwn shows a Linode that is in no pool.
func viewOwn(l *Linode, has *Assets, now time.Time) Instance {
	v := baseView(l.ID, l.Plan)
	v.Label, v.Status, v.Created, v.Updated = l.Label, l.Status(now), stamp(l.Created), stamp(l.Updated)
	v.IPv4 = []string{l.Address()}
	if l.PrivateIP != "" {
		v.IPv4 = append(v.IPv4, l.PrivateIP)
	}
	if group := has.groups[l.GroupID]; group != nil {
		v.PlacementGroup = &InstanceGroup{
			ID: group.ID, Label: group.Label, PlacementGroupType: group.Type, PlacementGroupPolicy: group.Policy,
		}
	}
	v.Region, v.Tags, v.HostUUID = l.Region, slices.Clone(l.Tags), l.HostUUID
	v.DiskEncryption, v.HasUserData = l.DiskEncryption, len(l.UserData) > 0
	v.Backups["enabled"], v.Backups["available"] = l.BackupsEnabled, false
	if l.Image != "" {
		v.Image = &l.Image
	}
	return v
}

// baseView is what follows from an id and a plan, and what is constant.
func baseView(id int, plan catalog.Plan) Instance {
	return Instance{
		ID: id, Type: plan.ID,
		IPv4: []string{fmt.Sprintf("203.0.113.%d", 1+id%65_000%254)},
		IPv6: fmt.Sprintf("2001:db8::%x/128", id), SiteType: "core",
		Specs: map[string]int{
			"disk": plan.DiskMiB, "memory": plan.MemoryMiB, "vcpus": plan.VCPUs, "gpus": plan.GPUs,
			"transfer": plan.TransferGB, "accelerated_devices": plan.AcceleratedDevices,
		},
		Alerts: map[string]int{
			"cpu": 90 * plan.VCPUs, "network_in": 10, "network_out": 10, "transfer_quota": 80, "io": 10000,
		},
		Backups: map[string]any{
			"enabled": true, "available": true, "last_successful": nil,
			"schedule": map[string]string{"day": "Scheduling", "window": "Scheduling"},
		},
		Hypervisor: "kvm", WatchdogEnabled: true,
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
	case i.off:
		return "offline"
	case !i.runs.After(now):
		return "running"
	case now.Sub(i.created) < i.runs.Sub(i.created)/4:
		return "offline"
	default:
		return "booting"
	}
}

// typeView is a plan as GET /linode/types answers it. What backups cost is not in the catalog; they are for free here.
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

// regionView is a region as GET /regions answers it; its limits for placement groups are those of all recorded ones.
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

// listTypes leaves out plans that the catalog has without their size: the API has none like that.
func (st *state) listTypes(q *request) (any, error) {
	plans := slices.DeleteFunc(st.cfg.Catalog.Plans(), func(p catalog.Plan) bool { return !p.Sized() })
	return list(q, plans, viewType)
}

// getAccount has of an account what says which plans it is sold.
func (st *state) getAccount(*request) (any, error) {
	return map[string]any{"company": "Example", "capabilities": append([]string{}, st.cfg.Capabilities...)}, nil
}

func (st *state) listRegions(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Regions(), viewRegion)
}

func (st *state) listAvailability(q *request) (any, error) {
	return list(q, st.cfg.Catalog.Availability(), asIs)
}

// regionAvailability is the one list of the API that comes bare, without pages. Its rows were seen with a region and
// without; here they have none.
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
