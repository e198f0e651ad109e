package migrate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/linode/linodego"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// LKECluster is an LKE cluster with its LKE pools, as the Linode API has them.
type LKECluster struct {
	api.Cluster
	Pools []LKEPool
	// Address is that of the linode_lke_cluster in Terraform that manages the cluster; "" if none does.
	Address string
	// External is whether its external_pool_tags leave the pools of lkeplan out of Terraform's state.
	External bool
	// ExternalTags are all its external_pool_tags.
	ExternalTags []string
	// OldProvider is whether Terraform's provider is older than external_pool_tags: its state does not have it.
	OldProvider bool
}

// LKEPool is an LKE pool.
type LKEPool struct {
	api.Pool
	// Address is that of the linode_lke_node_pool in Terraform that manages the pool; "" if none does, such as for a pool that is a
	// block of its cluster.
	Address string
}

// LKEImport is the configuration for the LKE pools of a cluster.
type LKEImport struct {
	Objects []map[string]any // LinodeNodeClasses and NodePools, in the order of the pools
	Pools   []ImportedPool
	Passed  []LKEPool // that Karpenter already manages
	Left    []string  // objects of the cluster with another spec, which keep their names
}

// ImportedPool is an LKE pool and the NodePool that takes its place.
type ImportedPool struct {
	LKEPool
	NodePool string
	Notes    []string // how the NodePool differs from the LKE pool
}

// NameTaken reports whether a cluster has another object with the name of an object, which then
// keeps it. The spec of a pool is unknown when its name is chosen.
type NameTaken func(obj map[string]any) bool

// ImportLKE makes a NodePool of each LKE pool, or of several that differ in nothing, and as few node
// classes as they need. The catalogue has the number of vCPUs of a plan. LKE pools that lkeplan or
// another Karpenter manages are skipped.
func ImportLKE(c LKECluster, plans *catalog.Catalog, taken NameTaken) LKEImport {
	var m LKEImport
	classes := map[string]string{} // their names by their specs
	users, common := c.classes()
	groups, passed := c.groups()
	m.Passed = passed
	for _, g := range groups {
		p := g.sum
		moved := ImportedPool{NodePool: m.name(schemas.Pool, p.name(), nil, taken)}
		spec := p.class(c)
		key := fmt.Sprint(spec)
		class, known := classes[key]
		if !known {
			wanted := "default"
			if key != common && users[key] == 1 {
				wanted = moved.NodePool
			}
			class = m.name(schemas.NodeClass, wanted, spec, taken)
			classes[key] = class
			m.Objects = append(m.Objects, newObject(schemas.NodeClass, class, spec))
		}
		var pool map[string]any
		pool, moved.Notes = p.nodePool(c, class)
		pool["limits"] = p.limits(plans)
		m.Objects = append(m.Objects, newObject(schemas.Pool, moved.NodePool, pool))
		if n := len(g.pools); n > 1 {
			moved.Notes = append(moved.Notes, fmt.Sprintf("It takes the place of %d LKE pools that differ in nothing. If an autoscaler "+
				"of your own creates them, write its maximum as the limit of this pool.", n))
		}
		moved.Notes = append(moved.Notes, p.floor())
		for _, member := range g.pools {
			moved.LKEPool = member
			m.Pools = append(m.Pools, moved)
			moved.Notes = nil
		}
	}
	return m
}

// A group is LKE pools that differ in nothing, as the cluster autoscaler of Linode creates them, and one with all their nodes.
type group struct {
	sum   LKEPool
	pools []LKEPool
}

// groups are the LKE pools to import, and those that are skipped.
func (c LKECluster) groups() (groups []group, passed []LKEPool) {
	at := map[string]int{}
	for _, p := range c.Pools {
		if lke.Keeps(p.Tags) {
			passed = append(passed, p)
			continue
		}
		pool, notes := p.nodePool(c, "")
		key := fmt.Sprintf("%q %q %v %v %q %t", p.name(), ptr.Deref(p.Label, ""), p.class(c), pool, notes, p.Autoscaler.Enabled)
		i, again := at[key]
		if !again {
			at[key] = len(groups)
			groups = append(groups, group{sum: p, pools: []LKEPool{p}})
			continue
		}
		g := &groups[i]
		g.sum.Count += p.Count
		g.sum.Autoscaler.Min += p.Autoscaler.Min
		g.sum.Autoscaler.Max += p.Autoscaler.Max
		g.pools = append(g.pools, p)
	}
	return groups, passed
}

// classes count the LKE pools of each class, by its spec; common is the first of the most common ones.
func (c LKECluster) classes() (users map[string]int, common string) {
	users = map[string]int{}
	for _, p := range c.Pools {
		if !lke.Keeps(p.Tags) {
			users[fmt.Sprint(p.class(c))]++
		}
	}
	for _, p := range c.Pools {
		if key := fmt.Sprint(p.class(c)); !lke.Keeps(p.Tags) && users[key] > users[common] {
			common = key
		}
	}
	return users, common
}

// name is a name for an object, with a number if another object has it. If that is one
// of the cluster, it is noted.
func (m *LKEImport) name(table schemas.Block, base string, spec map[string]any, taken NameTaken) string {
	name := base
	for n := 2; ; n++ {
		obj := newObject(table, name, spec)
		inCluster := taken(obj)
		if key := manifest.KeyOf(obj).String(); inCluster && !slices.Contains(m.Left, key) {
			m.Left = append(m.Left, key)
		}
		if !inCluster && !slices.ContainsFunc(m.Objects, func(o map[string]any) bool {
			return manifest.KeyOf(o) == manifest.KeyOf(obj)
		}) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

func newObject(table schemas.Block, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": table.Object.APIVersion, "kind": table.Object.Kind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}

var unnameable = regexp.MustCompile(`[^a-z0-9]+`)

var resource = regexp.MustCompile(`(?:module\.([^.\[]+)(\["[^"]*"\]|\[[0-9]+\])?\.)?linode_lke_node_pool\.([^.\[]+)(\[.*\])?$`)

// name is the pool's label, else the name of its resource in Terraform with its key, or that of its module if it is called
// "this"; else its plan.
func (p LKEPool) name() string {
	names := []string{ptr.Deref(p.Label, "")}
	if parts := resource.FindStringSubmatch(p.Address); parts != nil && parts[3] == "this" && parts[1] != "" {
		names = append(names, parts[1]+parts[2]+parts[4])
	} else if parts != nil {
		names = append(names, parts[3]+parts[4])
	}
	for _, name := range names {
		base := strings.Trim(unnameable.ReplaceAllString(strings.ToLower(name), "-"), "-")
		if base != "" && len(base) <= 40 {
			return base
		}
	}
	return p.Type
}

// class is what the pool's machines need in addition to their plan.
func (p LKEPool) class(c LKECluster) map[string]any {
	spec := map[string]any{}
	if version := ptr.Deref(p.K8sVersion, ""); c.enterprise() && version != "" && version != c.K8sVersion {
		spec["lkeK8sVersion"] = version
	}
	if id := ptr.Deref(p.FirewallID, 0); id != 0 {
		spec["firewallID"] = int64(id)
	}
	if p.DiskEncryption != "" {
		spec["diskEncryption"] = string(p.DiskEncryption)
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

// nodePool is the spec of a NodePool that creates the same nodes, and notes on the differences.
func (p LKEPool) nodePool(c LKECluster, class string) (spec map[string]any, notes []string) {
	requirement := func(key, value string) map[string]any {
		return map[string]any{"key": key, "operator": "In", "values": []any{value}}
	}
	template := map[string]any{
		"nodeClassRef": map[string]any{
			"group": schemas.NodeClassGroup, "kind": schemas.NodeClass.Object.Kind, "name": class,
		},
		"requirements": []any{
			requirement(schemas.CapacityTypeLabel, karpv1.CapacityTypeOnDemand),
			requirement("node.kubernetes.io/instance-type", p.Type),
		},
		"expireAfter": "Never",
	}
	var taints []any
	for _, t := range p.Taints {
		taint := map[string]any{"key": t.Key, "effect": string(t.Effect)}
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
			notes = append(notes, fmt.Sprintf("Its label %s is left out: Karpenter sets it, or does not let it be "+
				"set.", key))
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
	if version := ptr.Deref(p.K8sVersion, ""); version != "" && !c.enterprise() {
		notes = append(notes, fmt.Sprintf("Its k8s_version %s is left out: it is for LKE Enterprise, and cluster %s is of the standard tier.",
			version, c.Label))
	}
	if strategy := ptr.Deref(p.UpdateStrategy, linodego.LKENodePoolOnRecycle); strategy != linodego.LKENodePoolOnRecycle && strategy != "" {
		notes = append(notes, fmt.Sprintf("Its update_strategy %s is left out: LKE pools of lkeplan have on_recycle, and Karpenter "+
			"replaces nodes within the budgets of the pool.", strategy))
	}
	if len(p.Disks) > 0 {
		notes = append(notes, "Its disk layout is left out: nodes have the layout of LKE.")
	}
	return spec, notes
}

func (c LKECluster) enterprise() bool { return c.Tier == string(catalog.Enterprise) }

// most is how many nodes LKE would have created.
func (p LKEPool) most() int {
	if p.Autoscaler.Enabled {
		return max(p.Autoscaler.Max, p.Count)
	}
	return p.Count
}

// limits include the vCPUs: Karpenter counts nodes only between its passes.
func (p LKEPool) limits(plans *catalog.Catalog) map[string]any {
	limits := map[string]any{"nodes": fmt.Sprint(p.most())}
	if plan, known := plans.Plan(p.Type); known {
		limits["cpu"] = fmt.Sprint(p.most() * plan.VCPUs)
	}
	return limits
}

// floor is the note about the minimum number of nodes, which Karpenter does not have.
func (p LKEPool) floor() string {
	least := p.Count
	if p.Autoscaler.Enabled {
		least = p.Autoscaler.Min
	}
	if least == 0 {
		return fmt.Sprintf("This pool scales from 0 to %d with demand, as with LKE's autoscaler.", p.most())
	}
	return fmt.Sprintf("The minimum of %s is not kept: this pool scales from 0 to %d with demand. To keep spare "+
		"capacity, add a buffer block.", text.Count(least, "node"), p.most())
}

// ChooseCluster finds the cluster with a label or an ID, or the only one.
func ChooseCluster(clusters []LKECluster, name string) (LKECluster, error) {
	var labels, known []string
	var meant []LKECluster
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
		return LKECluster{}, fmt.Errorf("%q is the label or the ID of several clusters: %s; use the label or ID that only "+
			"one has", name, strings.Join(known, ", "))
	case len(clusters) == 0:
		return LKECluster{}, errors.New("there is no LKE cluster")
	case name == "":
		return LKECluster{}, fmt.Errorf("there are several clusters: choose one with --cluster: %s",
			strings.Join(labels, ", "))
	}
	return LKECluster{}, fmt.Errorf("there is no LKE cluster %q; the LKE clusters are: %s", name, strings.Join(labels, ", "))
}

// Others reports whether one of the live objects has the name of an object and another
// spec.
func Others(live []map[string]any) func(obj map[string]any) bool {
	return func(obj map[string]any) bool {
		for _, other := range live {
			if manifest.KeyOf(other) == manifest.KeyOf(obj) {
				return !sameSpec(other, obj)
			}
		}
		return false
	}
}

// sameSpec compares two specs with the defaults of the API server.
func sameSpec(a, b map[string]any) bool {
	rules := kube.BuiltinValidator()
	whole := [2]map[string]any{}
	for n, obj := range []map[string]any{a, b} {
		defaulted, err := rules.Defaulted(map[string]any{
			"apiVersion": obj["apiVersion"], "kind": obj["kind"], "spec": manifest.Map(obj, "spec"),
		})
		if err != nil {
			return false
		}
		whole[n] = defaulted
	}
	return reflect.DeepEqual(whole[0]["spec"], whole[1]["spec"])
}
