package gitops

import (
	"slices"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// stricter joins the guards of the source with those of the NodePlan, for a
// cluster with a number of nodes.
func stricter(source config.Guards, more *lkeplanv1alpha1.PlanGuards, nodes int) config.Guards {
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
