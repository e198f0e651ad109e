// Package movein makes pools of lkeplan from LKE pools that somebody else keeps: those of
// an LKE cluster, as Linode lists them or as Terraform knows them.
//
// It reads no API and no cluster, and moves nothing: it says what the pools would be, and
// what they cannot say.
package movein

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/fleet"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Cluster is an LKE cluster with its LKE pools.
type Cluster struct {
	ID     int
	Label  string
	Region string
	Tier   string // standard or enterprise; "" where it is not said
	Pools  []Pool
}

// A Pool is an LKE pool.
type Pool struct {
	ID             int
	Label          string // "" where it has none
	Plan           string // such as g6-standard-4
	Count          int
	Autoscaled     bool
	Min, Max       int // of the autoscaler
	Labels         map[string]string
	Taints         []Taint
	Tags           []string
	Firewall       int    // 0 for the cluster's own
	DiskEncryption string // enabled, disabled, or "" where it is not said
}

// A Taint is one of a pool's nodes.
type Taint struct{ Key, Value, Effect string }

// Moved is what becomes of the pools of a cluster.
type Moved struct {
	Objects []map[string]any // LinodeNodeClasses and NodePools, in the order of the pools
	Pools   []MovedPool
	Passed  []Pool // that a provider of Karpenter keeps already
}

// A MovedPool is an LKE pool and the NodePool that takes its place.
type MovedPool struct {
	Pool
	NodePool string
	Notes    []string // what the NodePool does not say as the LKE pool did
}

// Move makes a NodePool of each LKE pool, and as few node classes as they need; how many
// vCPUs a plan has, the catalogue knows. Pools that lkeplan or another Karpenter keeps are
// left alone.
func Move(c Cluster, plans *catalog.Catalog) Moved {
	var m Moved
	classes := map[string]string{} // their names by what they say
	taken, takenClasses := map[string]bool{}, map[string]bool{}
	for _, p := range c.Pools {
		if fleet.Keeps(p.Tags) {
			m.Passed = append(m.Passed, p)
			continue
		}
		name := p.name(taken)
		taken[name] = true
		spec := p.class()
		class, known := classes[fmt.Sprint(spec)]
		if !known {
			class = "default"
			if len(classes) > 0 {
				class = free(name, takenClasses)
			}
			classes[fmt.Sprint(spec)], takenClasses[class] = class, true
			m.Objects = append(m.Objects, object(schemas.NodeClass, class, spec))
		}
		pool, notes := p.nodePool(class)
		pool["limits"] = p.limits(plans)
		m.Objects = append(m.Objects, object(schemas.Pool, name, pool))
		m.Pools = append(m.Pools, MovedPool{p, name, notes})
	}
	return m
}

func object(table schemas.Block, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": table.Object.APIVersion, "kind": table.Object.Kind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}

var unnameable = regexp.MustCompile(`[^a-z0-9]+`)

// name is the pool's label where that can be a name, else its plan. A number makes it one
// that is free.
func (p Pool) name(taken map[string]bool) string {
	base := strings.Trim(unnameable.ReplaceAllString(strings.ToLower(p.Label), "-"), "-")
	if base == "" || len(base) > 40 {
		base = p.Plan
	}
	return free(base, taken)
}

// free is a name, with a number where it is taken.
func free(base string, taken map[string]bool) string {
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// class is what the pool's machines need besides their plan.
func (p Pool) class() map[string]any {
	spec := map[string]any{}
	if p.Firewall != 0 {
		spec["firewallID"] = int64(p.Firewall)
	}
	if p.DiskEncryption != "" {
		spec["diskEncryption"] = p.DiskEncryption
	}
	var tags []any
	for _, tag := range slices.Sorted(slices.Values(p.Tags)) {
		tags = append(tags, tag)
	}
	if len(tags) > 0 {
		spec["tags"] = tags
	}
	return spec
}

// nodePool is the spec of a NodePool that makes the same nodes, and what of the pool it does
// not say.
func (p Pool) nodePool(class string) (spec map[string]any, notes []string) {
	requirement := func(key, value string) map[string]any {
		return map[string]any{"key": key, "operator": "In", "values": []any{value}}
	}
	template := map[string]any{
		"nodeClassRef": map[string]any{
			"group": strings.Split(schemas.NodeClass.Object.APIVersion, "/")[0], "kind": schemas.NodeClass.Object.Kind,
			"name": class,
		},
		"requirements": []any{
			requirement(schemas.CapacityTypeLabel, karpv1.CapacityTypeOnDemand),
			requirement("node.kubernetes.io/instance-type", p.Plan),
		},
		"expireAfter": "Never",
	}
	var taints []any
	for _, t := range p.Taints {
		taint := map[string]any{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		taints = append(taints, taint)
	}
	if len(taints) > 0 {
		template["taints"] = taints
	}
	labels := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if karpv1.IsRestrictedLabel(key) != nil || karpv1.WellKnownLabels.Has(key) {
			notes = append(notes, fmt.Sprintf("Its label %s is left out: Karpenter sets that itself, or lets nobody set "+
				"it.", key))
			continue
		}
		labels[key] = p.Labels[key]
	}
	whole := map[string]any{"spec": template}
	if len(labels) > 0 {
		whole["metadata"] = map[string]any{"labels": labels}
	}
	spec = map[string]any{
		"template":   whole,
		"disruption": map[string]any{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "10m"},
	}
	return spec, append(notes, p.floor())
}

// most is how many nodes LKE would have made.
func (p Pool) most() int {
	if p.Autoscaled {
		return p.Max
	}
	return p.Count
}

// limits count the vCPUs as well: Karpenter counts nodes only between its passes.
func (p Pool) limits(plans *catalog.Catalog) map[string]any {
	limits := map[string]any{"nodes": fmt.Sprint(p.most())}
	if plan, known := plans.Plan(p.Plan); known {
		limits["cpu"] = fmt.Sprint(p.most() * plan.VCPUs)
	}
	return limits
}

// floor says what becomes of the least number of nodes, which Karpenter does not know.
func (p Pool) floor() string {
	least := p.Count
	if p.Autoscaled {
		least = p.Min
	}
	return fmt.Sprintf("LKE kept at least %d of these nodes, whatever ran on them. Here there are as many as pods "+
		"need, up to %d; a buffer block makes room that is always there.", least, p.most())
}
