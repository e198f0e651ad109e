package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// ClusterOf returns what objects that are imported say about their cluster: the
// name that lkeplan has written on them; the region that its nodes are in, or else
// that its pools ask for; and its tier, if one of its classes has what only one
// tier has, or is of instance mode. What they do not say, or not with one voice, is empty.
func ClusterOf(objects, nodes []map[string]any) config.Cluster {
	regions := map[string]bool{}
	for _, node := range nodes {
		if region := manifest.Label(node, schemas.RegionLabel); region != "" {
			regions[region] = true
		}
	}
	tier, gpus, owners := "", false, map[string]bool{}
	for _, obj := range objects {
		owner := manifest.Label(obj, kube.InventoryLabel)
		if owner != "" && !strings.HasPrefix(owner, kube.NodePlanOwner+".") {
			owners[owner] = true
		}
		if _, label, known := strings.Cut(annotated(obj), "/"); known {
			owners[label] = true
		}
		if len(nodes) == 0 {
			maps.Copy(regions, regionsAskedFor(obj))
		}
		if manifest.Kind(obj) == schemas.NodeClass.Object.Kind {
			tier = cmp.Or(tierOf(obj), tier)
			gpus = gpus || manifest.Map(obj, "metadata", "annotations")[schemas.AnnotationGPUPlans] == "true"
		}
	}
	return config.Cluster{Name: only(owners), Region: only(regions), Tier: tier, GPUPlans: gpus}
}

// Describe says which cluster a directory is for that objects are imported into: what is
// given, mode as well, else what they say. In comments it says what is not known.
func Describe(objects, nodes []map[string]any, given config.Cluster, mode string) (cluster config.Cluster, comments string) {
	known := ClusterOf(objects, nodes)
	switch {
	case mode == schemas.ModeInstance:
		known.Tier = mode
	case mode != "" && known.Instances():
		known.Tier = ""
	}
	cluster = config.Cluster{
		Name: cmp.Or(given.Name, known.Name), Region: cmp.Or(given.Region, known.Region), Tier: cmp.Or(given.Tier, known.Tier),
	}
	cluster.GPUPlans = known.GPUPlans && !cluster.Instances()
	if cluster.Name == "" {
		cluster.Name = schemas.PlaceholderName
		name := "the cluster's label in LKE"
		if cluster.Instances() {
			name = "the CLUSTER_NAME of the controller"
		}
		comments += "# The name is not known from the objects: write " + name + ".\n"
	}
	if cluster.Region == "" {
		cluster.Region = "us-ord"
		comments += "# The region is not known from the objects: write the one that the cluster is in.\n"
	}
	return cluster, comments
}

// tierOf is what a class says of its cluster's tier.
func tierOf(class map[string]any) string {
	switch mode := manifest.Map(class, "metadata", "annotations")[schemas.AnnotationMode]; {
	case mode == schemas.ModeInstance:
		return schemas.ModeInstance
	case manifest.Map(class, "metadata", "annotations")[schemas.AnnotationGPUPlans] == "true",
		manifest.Map(class, "spec")["firewallID"] != nil,
		strings.Contains(manifest.Text(class, "spec", "lkeK8sVersion"), "+lke"):
		return schemas.TierEnterprise
	}
	return ""
}

// annotated is what the controller has written on a class: ID/LABEL of its LKE cluster.
func annotated(obj map[string]any) string {
	text, _ := manifest.Map(obj, "metadata", "annotations")[linodev1alpha1.AnnotationCluster].(string)
	return text
}

// only is the one name of a set; "" where there is none, or more than one.
func only(names map[string]bool) string {
	if len(names) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(names))[0]
}

// regionsAskedFor are the regions in a pool's requirements.
func regionsAskedFor(pool map[string]any) map[string]bool {
	requirements, _ := manifest.Lookup(pool, "spec", "template", "spec", "requirements")
	list, _ := requirements.([]any)
	regions := map[string]bool{}
	for _, element := range list {
		entry, _ := element.(map[string]any)
		values, _ := entry["values"].([]any)
		if (entry["key"] == schemas.ZoneLabel || entry["key"] == schemas.RegionLabel) && entry["operator"] == "In" {
			for _, v := range values {
				regions[fmt.Sprint(v)] = true
			}
		}
	}
	return regions
}
