package adopt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/linode/api"
)

// FromLKE is a cluster as the Linode API describes it.
func FromLKE(c api.Cluster, pools []api.Pool) Cluster {
	out := Cluster{ID: c.ID, Label: c.Label, Region: c.Region, Tier: c.Tier}
	for _, p := range pools {
		pool := Pool{
			ID: p.ID, Plan: p.Type, Count: p.Count, Labels: p.Labels, Tags: p.Tags, DiskEncryption: string(p.DiskEncryption),
			Autoscaled: p.Autoscaler.Enabled, Min: p.Autoscaler.Min, Max: p.Autoscaler.Max,
		}
		if p.Label != nil {
			pool.Label = *p.Label
		}
		if p.FirewallID != nil {
			pool.Firewall = *p.FirewallID
		}
		for _, t := range p.Taints {
			pool.Taints = append(pool.Taints, Taint{t.Key, t.Value, string(t.Effect)})
		}
		out.Pools = append(out.Pools, pool)
	}
	return out
}

// ChooseCluster finds the cluster of a label or an id, or the only one there is.
func ChooseCluster(clusters []Cluster, name string) (Cluster, error) {
	var labels, known []string
	var meant []Cluster
	for _, c := range clusters {
		if name == "" || c.Label == name || strconv.Itoa(c.ID) == name {
			meant = append(meant, c)
			known = append(known, fmt.Sprintf("%d (%s)", c.ID, c.Label))
		}
		labels = append(labels, c.Label)
	}
	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(meant) > 1 && name != "":
		return Cluster{}, fmt.Errorf("%q is the label or the id of several clusters: %s; say the one of the two that only "+
			"one has", name, strings.Join(known, ", "))
	case len(clusters) == 0:
		return Cluster{}, errors.New("there is no LKE cluster")
	case name == "":
		return Cluster{}, fmt.Errorf("there are several clusters: say which by --cluster: %s",
			strings.Join(labels, ", "))
	}
	return Cluster{}, fmt.Errorf("there is no cluster %q; there are %s", name, strings.Join(labels, ", "))
}
