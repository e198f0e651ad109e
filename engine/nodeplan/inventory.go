package nodeplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Inventory is what a NodePlan has applied: UIDs by the IDs in its status.
type Inventory map[string]string

// InventoryOf reads the inventory of a status.
func InventoryOf(entries []lkeplanv1alpha1.InventoryEntry) Inventory {
	inventory := Inventory{}
	for _, e := range entries {
		inventory[e.ID] = e.UID
	}
	return inventory
}

// Has reports whether a live object is in the inventory.
func (i Inventory) Has(obj map[string]any) bool {
	uid, listed := i[EntryOf(obj).ID]
	return listed && uid == manifest.UID(obj)
}

// After returns the sorted entries of a NodePlan that has applied objects: of the live
// objects with its label, those that it declares, and those that it applied earlier and
// that still exist.
func (i Inventory) After(
	labelled []map[string]any, declared map[manifest.Key]config.Object,
) []lkeplanv1alpha1.InventoryEntry {
	entries := map[string]lkeplanv1alpha1.InventoryEntry{}
	for _, obj := range labelled {
		if _, declares := declared[manifest.KeyOf(obj)]; i.Has(obj) || declares && kube.Applied(obj) {
			e := EntryOf(obj)
			entries[e.ID] = e
		}
	}
	return slices.SortedFunc(maps.Values(entries), func(a, b lkeplanv1alpha1.InventoryEntry) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// EntryOf names an object as Flux's inventories do: namespace_name_group_kind.
func EntryOf(obj map[string]any) lkeplanv1alpha1.InventoryEntry {
	key := manifest.KeyOf(obj)
	gv, _ := schema.ParseGroupVersion(manifest.APIVersion(obj)) // the API server has validated it
	return lkeplanv1alpha1.InventoryEntry{
		ID: ID(key.Namespace, key.Name, gv.Group, key.Kind), V: gv.Version, UID: manifest.UID(obj),
	}
}

// ID returns how inventories name an object.
func ID(namespace, name, group, kind string) string {
	return fmt.Sprintf("%s_%s_%s_%s", namespace, name, group, kind)
}
