package nodeplan

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Ignored returns a function that reports whether a NodePlan ignores the drift of a
// field.
func Ignored(rules []lkeplanv1alpha1.DriftIgnore) func(plan.Drift) bool {
	return func(d plan.Drift) bool {
		return slices.ContainsFunc(rules, func(r lkeplanv1alpha1.DriftIgnore) bool { return coversField(r, d) })
	}
}

// coversField reports whether a rule names a field, or a field that contains it.
func coversField(r lkeplanv1alpha1.DriftIgnore, d plan.Drift) bool {
	if (r.Kind != "" && r.Kind != d.Kind) || (r.Name != "" && r.Name != d.Name) {
		return false
	}
	return slices.ContainsFunc(r.Paths, func(pointer string) bool {
		path := plan.PathOf(pointer)
		return d.Path == path || strings.HasPrefix(d.Path, path+".") || strings.HasPrefix(d.Path, path+"[")
	})
}

// Stricter joins the guards of the source with those of the NodePlan, for a
// cluster with a number of nodes.
func Stricter(source config.Guards, more *lkeplanv1alpha1.PlanGuards, nodes int) config.Guards {
	if more == nil {
		return source
	}
	source.Protected = append(slices.Clone(source.Protected), more.Protected...)
	if more.MaxDeletedPools != nil {
		source.MaxDeletedPools = min(source.MaxDeletedPools, *more.MaxDeletedPools)
	}
	source.MaxDeletedNodes = plan.StricterShare(source.MaxDeletedNodes, more.MaxDeletedNodes, nodes)
	source.MaxRolledNodes = plan.StricterShare(source.MaxRolledNodes, more.MaxRolledNodes, nodes)
	return source
}

// PlannedFor returns the NodePlan that a plan-only one plans for.
func PlannedFor(np *lkeplanv1alpha1.NodePlan) (at client.ObjectKey, forAnother bool) {
	other := np.Spec.PlanFor
	if other == nil || np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly {
		return at, false
	}
	at = client.ObjectKey{Namespace: cmp.Or(other.Namespace, np.Namespace), Name: other.Name}
	return at, at != client.ObjectKeyFromObject(np)
}
