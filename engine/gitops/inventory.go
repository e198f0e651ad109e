package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// inventory lists what is applied now, sorted: the objects of head, and those that
// are being deleted. Where the apply was not complete, it is not known how far it
// got, and what was listed before stays.
func inventory(
	head compile.Result, before []lkeplanv1alpha1.InventoryEntry, deleted []map[string]any, complete bool,
) []lkeplanv1alpha1.InventoryEntry {
	entries := map[string]lkeplanv1alpha1.InventoryEntry{}
	if !complete {
		for _, e := range before {
			entries[e.ID] = e
		}
	}
	for _, m := range append(head.Manifests(), deleted...) {
		e := entryFor(m)
		entries[e.ID] = e
	}
	return slices.SortedFunc(maps.Values(entries), func(a, b lkeplanv1alpha1.InventoryEntry) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// entryFor names an object as Flux's inventories do: namespace_name_group_kind.
func entryFor(obj map[string]any) lkeplanv1alpha1.InventoryEntry {
	key := manifest.KeyOf(obj)
	gv, _ := schema.ParseGroupVersion(manifest.APIVersion(obj)) // the API server has read it before
	id := fmt.Sprintf("%s_%s_%s_%s", key.Namespace, key.Name, gv.Group, key.Kind)
	return lkeplanv1alpha1.InventoryEntry{ID: id, V: gv.Version}
}
