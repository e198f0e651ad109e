package compile

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/kube"
)

// Owner returns the value of the label kube.InventoryLabel that ties objects in the cluster to this
// configuration: Inventory, or else the cluster's name. If it is empty, leftover objects cannot be
// recognized.
func (c Result) Owner() string { return cmp.Or(c.Inventory, c.Cluster.Name) }

// InRepository adds the identity of its repository to the name of the directory, as in
// clusters/prod@1f2c3d4a5b6c; "" if it is unknown. A name that the directory sets can have one.
func (c Result) InRepository(id string) Result {
	if id != "" && c.Directory != "" && !strings.Contains(c.Directory, "@") {
		c.Directory += "@" + id
	}
	return c
}

// Origin returns the value of the annotation kube.OriginAnnotation of objects applied from the directory. It
// distinguishes them from those of other directories for the cluster, also of other repositories, and does
// not depend on the location of the repository. It is "" if a NodePlan applies the objects.
func (c Result) Origin() string {
	if c.Inventory != "" {
		return ""
	}
	return cmp.Or(c.Directory, ".")
}

// Labelled returns a copy of an object with the inventory label of this configuration, and with the
// directory that it is applied from.
func (c Result) Labelled(manifest map[string]any) map[string]any {
	if c.Owner() == "" {
		return manifest
	}
	labelled := runtime.DeepCopyJSON(manifest)
	// The only possible error is labels that are not a map, which validation has refused.
	_ = unstructured.SetNestedField(labelled, c.Owner(), "metadata", "labels", kube.InventoryLabel)
	if origin := c.Origin(); origin != "" {
		_ = unstructured.SetNestedField(labelled, origin, "metadata", "annotations", kube.OriginAnnotation)
	}
	return labelled
}
