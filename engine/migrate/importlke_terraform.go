package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// FromTerraform reads the clusters in what "terraform show -json" prints of a state or a
// plan: resources linode_lke_cluster, with the pools that they have themselves and those of
// linode_lke_node_pool. The error says where it is something else.
func FromTerraform(data []byte) ([]LKECluster, error) {
	var shown struct {
		FormatVersion string          `json:"format_version"`
		Values        *terraformState `json:"values"`
		PlannedValues *terraformState `json:"planned_values"`
	}
	if err := cmp.Or(manifest.UniqueKeys(data), json.Unmarshal(data, &shown)); err != nil {
		return nil, fmt.Errorf("it is not what terraform show -json prints: %w", err)
	}
	state := shown.Values
	if state == nil {
		state = shown.PlannedValues
	}
	if shown.FormatVersion == "" || state == nil {
		return nil, errors.New("it is not what terraform show -json prints: it has no values; a state file itself is read " +
			"by terraform show -json FILE")
	}
	return state.clusters()
}

type terraformState struct {
	RootModule terraformModule `json:"root_module"`
}

type terraformModule struct {
	Resources []struct {
		Mode    string          `json:"mode"`
		Type    string          `json:"type"`
		Address string          `json:"address"`
		Values  json.RawMessage `json:"values"`
	} `json:"resources"`
	ChildModules []terraformModule `json:"child_modules"`
}

type terraformCluster struct {
	ID     string          `json:"id"`
	Label  string          `json:"label"`
	Region string          `json:"region"`
	Tier   string          `json:"tier"`
	Pool   []terraformPool `json:"pool"`

	ExternalPoolTags []string `json:"external_pool_tags"`
}

type terraformPool struct {
	ID         any               `json:"id"` // a number in a cluster, text by itself
	ClusterID  int               `json:"cluster_id"`
	Label      string            `json:"label"`
	Type       string            `json:"type"`
	Count      int               `json:"count"`
	NodeCount  int               `json:"node_count"`
	Labels     map[string]string `json:"labels"`
	Tags       []string          `json:"tags"`
	FirewallID int               `json:"firewall_id"`
	Encryption string            `json:"disk_encryption"`
	Taint      []api.Taint       `json:"taint"`
	Autoscaler []api.Autoscaler  `json:"autoscaler"`
}

func (p terraformPool) pool() LKEPool {
	id, _ := strconv.Atoi(fmt.Sprint(p.ID))
	if n, isNumber := p.ID.(float64); isNumber {
		id = int(n)
	}
	out := LKEPool{Pool: api.Pool{
		ID: id, Label: &p.Label, Type: p.Type, Count: max(p.Count, p.NodeCount), Labels: p.Labels, Tags: p.Tags,
		FirewallID: &p.FirewallID, DiskEncryption: linodego.InstanceDiskEncryption(p.Encryption), Taints: p.Taint,
	}}
	if len(p.Autoscaler) > 0 {
		out.Autoscaler = p.Autoscaler[0]
		out.Autoscaler.Enabled = true
	}
	return out
}

func (s terraformState) clusters() ([]LKECluster, error) {
	var clusters []LKECluster
	var alone []poolResource
	modules := []terraformModule{s.RootModule}
	for len(modules) > 0 {
		m := modules[0]
		modules = append(modules[1:], m.ChildModules...)
		for _, r := range m.Resources {
			if r.Mode != "managed" {
				continue
			}
			var err error
			switch r.Type {
			case "linode_lke_cluster":
				var c terraformCluster
				if err = json.Unmarshal(r.Values, &c); err == nil {
					clusters = append(clusters, c.cluster(r.Address))
				}
			case "linode_lke_node_pool":
				var p terraformPool
				if err = json.Unmarshal(r.Values, &p); err == nil {
					alone = append(alone, poolResource{p, r.Address})
				}
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Address, err)
			}
		}
	}
	return withPools(clusters, alone)
}

// A poolResource is a linode_lke_node_pool with its address.
type poolResource struct {
	terraformPool
	address string
}

func (c terraformCluster) cluster(address string) LKECluster {
	id, _ := strconv.Atoi(c.ID)
	out := LKECluster{Cluster: api.Cluster{ID: id, Label: c.Label, Region: c.Region, Tier: c.Tier}, Address: address,
		External: slices.Contains(c.ExternalPoolTags, capacity.Mark)}
	for _, p := range c.Pool {
		out.Pools = append(out.Pools, p.pool())
	}
	return out
}

// withPools gives each cluster the pools that are resources of their own. A cluster knows
// them as well once it has been read again. What has no id yet has no nodes that could move.
func withPools(clusters []LKECluster, alone []poolResource) ([]LKECluster, error) {
	for _, p := range alone {
		pool := p.pool()
		pool.Address = p.address
		at := slices.IndexFunc(clusters, func(c LKECluster) bool { return c.ID == p.ClusterID })
		if at < 0 {
			return nil, fmt.Errorf("LKE pool %d is of cluster %d, whose linode_lke_cluster is not there; show the state "+
				"that has it, or import with --lke", pool.ID, p.ClusterID)
		}
		c := &clusters[at]
		if i := slices.IndexFunc(c.Pools, func(p LKEPool) bool { return p.ID == pool.ID }); i >= 0 {
			c.Pools[i].Address = pool.Address
		} else {
			c.Pools = append(c.Pools, pool)
		}
	}
	for _, c := range clusters {
		if c.ID == 0 || c.has(0) {
			return nil, fmt.Errorf("cluster %s, or an LKE pool of it, is planned and not made: it has no id; apply the plan "+
				"first", c.Label)
		}
	}
	return clusters, nil
}

func (c LKECluster) has(pool int) bool {
	return slices.ContainsFunc(c.Pools, func(p LKEPool) bool { return p.ID == pool })
}
