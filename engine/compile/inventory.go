package compile

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/kube"
)

// Owner is the value of the label kube.InventoryLabel that ties objects in the
// cluster to this configuration: the cluster's name, unless Inventory says
// another. Where it is empty, nothing can be told to be left over.
func (c Result) Owner() string { return cmp.Or(c.Inventory, c.Cluster.Name) }

// Origin is the value of the annotation kube.OriginAnnotation of what is applied from the
// directory, which distinguishes it from others of its cluster; "" if a NodePlan applies it.
// It does not depend on where the repository is.
func (c Result) Origin() string {
	if c.Inventory != "" {
		return ""
	}
	return cmp.Or(c.Directory, ".")
}

// Labelled returns an object to apply with the inventory label of this
// configuration, and with the directory that it is applied from. The object is not changed.
func (c Result) Labelled(manifest map[string]any) map[string]any {
	if c.Owner() == "" {
		return manifest
	}
	labelled := runtime.DeepCopyJSON(manifest)
	// The only error is that labels are no map, which validation has refused.
	_ = unstructured.SetNestedField(labelled, c.Owner(), "metadata", "labels", kube.InventoryLabel)
	if origin := c.Origin(); origin != "" {
		_ = unstructured.SetNestedField(labelled, origin, "metadata", "annotations", kube.OriginAnnotation)
	}
	return labelled
}
