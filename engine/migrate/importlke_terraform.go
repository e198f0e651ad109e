package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// FromTerraform reads the clusters in what "terraform show -json" prints of a state or a
// plan: resources linode_lke_cluster, with their inline pools and those of
// linode_lke_node_pool. Notes are about what is left out. The error has the place of what cannot be read.
func FromTerraform(data []byte) (clusters []LKECluster, notes []string, err error) {
	type values struct {
		RootModule terraformModule `json:"root_module"`
	}
	var shown struct {
		FormatVersion string  `json:"format_version"`
		Values        *values `json:"values"`
		PlannedValues *values `json:"planned_values"`
	}
	if data, err = schemas.UTF8(data); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(manifest.UniqueKeys(data), json.Unmarshal(data, &shown)); err != nil {
		return nil, nil, fmt.Errorf("it is not what terraform show -json prints: %w", err)
	}
	state := cmp.Or(shown.Values, shown.PlannedValues)
	switch major, _, _ := strings.Cut(shown.FormatVersion, "."); {
	case shown.FormatVersion == "" || state == nil:
		return nil, nil, errors.New("it is not what terraform show -json prints: it has no values; to read a state file, run " +
			"terraform show -json FILE")
	case major != "0" && major != "1":
		return nil, nil, fmt.Errorf("its format_version is %s, and 1 is the newest supported one", shown.FormatVersion)
	}
	return state.RootModule.clusters()
}

type terraformModule struct {
	Resources []struct {
		Mode    string          `json:"mode"`
		Type    string          `json:"type"`
		Address string          `json:"address"`
		Deposed string          `json:"deposed_key"` // of an instance that was replaced, and will be deleted
		Values  json.RawMessage `json:"values"`
	} `json:"resources"`
	ChildModules []terraformModule `json:"child_modules"`
}

type terraformCluster struct {
	ID      string          `json:"id"`
	Label   string          `json:"label"`
	Region  string          `json:"region"`
	Tier    string          `json:"tier"`
	Version string          `json:"k8s_version"`
	Pool    []terraformPool `json:"pool"`

	ExternalPoolTags json.RawMessage `json:"external_pool_tags"` // a list, null, or nothing
}

type terraformPool struct {
	ID         any                `json:"id"` // a number in a cluster, text in a resource
	ClusterID  int                `json:"cluster_id"`
	Label      string             `json:"label"`
	Type       string             `json:"type"`
	Count      int                `json:"count"`
	NodeCount  int                `json:"node_count"`
	Labels     map[string]*string `json:"labels"`
	Tags       []string           `json:"tags"`
	FirewallID int                `json:"firewall_id"`
	Encryption string             `json:"disk_encryption"`
	Taint      []api.Taint        `json:"taint"`
	Autoscaler []api.Autoscaler   `json:"autoscaler"`
	Version    *string            `json:"k8s_version"`
	Strategy   *string            `json:"update_strategy"`
}

func (p terraformPool) id() int {
	if n, isNumber := p.ID.(float64); isNumber {
		return int(n)
	}
	id, _ := strconv.Atoi(fmt.Sprint(p.ID))
	return id
}

func (p terraformPool) pool() LKEPool {
	out := LKEPool{Pool: api.Pool{
		ID: p.id(), Label: &p.Label, Type: p.Type, Count: max(p.Count, p.NodeCount), Labels: map[string]string{}, Tags: p.Tags,
		FirewallID: &p.FirewallID, DiskEncryption: linodego.InstanceDiskEncryption(p.Encryption), Taints: p.Taint, K8sVersion: p.Version,
		UpdateStrategy: (*linodego.LKENodePoolUpdateStrategy)(p.Strategy),
	}}
	for key, value := range p.Labels {
		if value != nil {
			out.Labels[key] = *value
		}
	}
	if len(p.Autoscaler) > 0 {
		out.Autoscaler = p.Autoscaler[0]
		out.Autoscaler.Enabled = true
	}
	return out
}

func (root terraformModule) clusters() (clusters []LKECluster, notes []string, err error) {
	var alone []poolResource
	deposed := map[int]bool{} // LKE pools, which the cluster may also list
	modules := []terraformModule{root}
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
				if err = json.Unmarshal(r.Values, &c); err == nil && r.Deposed == "" {
					clusters = append(clusters, c.cluster(r.Address))
				} else if err == nil {
					notes = append(notes, leftOut("cluster "+c.Label, r.Address))
				}
			case "linode_lke_node_pool":
				var p terraformPool
				if err = json.Unmarshal(r.Values, &p); err == nil && r.Deposed == "" {
					alone = append(alone, poolResource{p, r.Address})
				} else if err == nil {
					deposed[p.id()] = true
					notes = append(notes, leftOut(fmt.Sprintf("LKE pool %d", p.id()), r.Address))
				}
			}
			var wrong *json.UnmarshalTypeError
			if errors.As(err, &wrong) {
				err = fmt.Errorf("%s: this is a %s, want %s", wrong.Field, wrong.Value, wrong.Type)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", r.Address, err)
			}
		}
	}
	for i := range clusters {
		clusters[i].Pools = slices.DeleteFunc(clusters[i].Pools, func(p LKEPool) bool { return deposed[p.ID] })
	}
	clusters, err = withPools(clusters, alone)
	return clusters, notes, err
}

func leftOut(what, address string) string {
	return fmt.Sprintf("%s is left out: it is a deposed instance of %s, which the next terraform apply deletes.", what, address)
}

// A poolResource is a linode_lke_node_pool with its address.
type poolResource struct {
	terraformPool
	address string
}

func (c terraformCluster) cluster(address string) LKECluster {
	id, _ := strconv.Atoi(c.ID)
	var external []string
	_ = json.Unmarshal(c.ExternalPoolTags, &external) // what is not a list has no tag
	out := LKECluster{Cluster: api.Cluster{ID: id, Label: c.Label, Region: c.Region, Tier: c.Tier, K8sVersion: c.Version}, Address: address,
		External: slices.Contains(external, capacity.Mark), ExternalTags: external, OldProvider: len(c.ExternalPoolTags) == 0}
	for _, p := range c.Pool {
		out.Pools = append(out.Pools, p.pool())
	}
	return out
}

// withPools gives each cluster the pools that are separate resources. A cluster also has
// them after it was read again. What has no ID yet has no nodes that could move.
func withPools(clusters []LKECluster, alone []poolResource) ([]LKECluster, error) {
	for _, p := range alone {
		pool := p.pool()
		pool.Address = p.address
		at := slices.IndexFunc(clusters, func(c LKECluster) bool { return c.ID == p.ClusterID })
		if at < 0 {
			return nil, fmt.Errorf("LKE pool %d is of cluster %d, whose linode_lke_cluster is missing; show the state "+
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
		for _, p := range c.Pools {
			if p.Type == "" {
				return nil, fmt.Errorf("LKE pool %d of cluster %s has no type", p.ID, c.Label)
			}
		}
		if c.ID == 0 || slices.ContainsFunc(c.Pools, func(p LKEPool) bool { return p.ID == 0 }) {
			return nil, fmt.Errorf("cluster %s, or an LKE pool of it, is planned and not created: it has no ID; apply the plan "+
				"first", c.Label)
		}
	}
	return clusters, nil
}
