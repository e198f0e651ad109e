package nodeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Standing is the relation of a live object to a NodePlan.
type Standing int

// The standings.
const (
	// Ours was applied by the NodePlan: manual edits are reverted.
	Ours Standing = iota
	// Free has no owner: it was applied by lkeplan and released since, or an import block
	// says that it may be taken over.
	Free
	// HeldByOther is managed by another NodePlan.
	HeldByOther
	// Foreign was created by another client, or carries a copy of the label.
	Foreign
)

// Declared returns the relation of a live object to the NodePlan with this inventory and value of the
// inventory label that declares it.
//
// An object with the label that lkeplan has applied belongs to the NodePlan even if it is in no
// inventory: the controller may have ended before it wrote the status. Equal values do not
// make it the owner.
func (i Inventory) Declared(live map[string]any, label string, imports []config.Import) Standing {
	switch owner := manifest.Label(live, kube.InventoryLabel); {
	case owner == label && (i.Has(live) || kube.Applied(live)):
		return Ours
	case owner == "" && i.Has(live) && kube.Applied(live): // its label was removed by hand
		return Ours
	case owner != label && strings.HasPrefix(owner, kube.NodePlanOwner+"."):
		return HeldByOther
	case kube.Applied(live) || slices.ContainsFunc(imports, func(i config.Import) bool {
		return i.Kind == manifest.Kind(live) && i.Name == manifest.Name(live)
	}):
		return Free
	}
	return Foreign
}

// InventoryLabel returns the value of the label kube.InventoryLabel of a NodePlan's objects. A label has
// at most 63 characters, so the value of long names ends in a digest.
func InventoryLabel(plan *lkeplanv1alpha1.NodePlan) string {
	return kube.LabelValue(kube.NodePlanOwner, plan.Namespace, plan.Name)
}

// Maker names the owner of an object that lkeplan has not applied.
func Maker(live map[string]any) string {
	owners := kube.Owners(live)
	if len(owners) == 0 {
		return "another client"
	}
	maker := owners[0].Tool
	if owners[0].What != "" {
		maker += fmt.Sprintf(" (%s)", owners[0].What)
	}
	return maker
}

// HolderOf returns the NodePlan that an inventory label names, as namespace/name, cut to
// the length of a label.
func HolderOf(live map[string]any) string {
	name, _ := strings.CutPrefix(manifest.Label(live, kube.InventoryLabel), kube.NodePlanOwner+".")
	return cmp.Or(strings.Replace(name, ".", "/", 1), "nobody") // a namespace has no dot
}
