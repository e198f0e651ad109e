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

// Labelled returns an object to apply with the inventory label of this
// configuration. The object is not changed.
func (c Result) Labelled(manifest map[string]any) map[string]any {
	if c.Owner() == "" {
		return manifest
	}
	u := unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[kube.InventoryLabel] = c.Owner()
	u.SetLabels(labels)
	return u.Object
}

// LabelledManifests returns the objects to apply as Manifests does, each with the
// inventory label of this configuration.
func (c Result) LabelledManifests() []map[string]any {
	manifests := c.Manifests()
	for i, m := range manifests {
		manifests[i] = c.Labelled(m)
	}
	return manifests
}
