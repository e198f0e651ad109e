package gitops

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/config"
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
	source.MaxDeletedNodes = smaller(source.MaxDeletedNodes, more.MaxDeletedNodes, nodes)
	source.MaxRolledNodes = smaller(source.MaxRolledNodes, more.MaxRolledNodes, nodes)
	return source
}

// smaller returns the share that allows fewer of a number of nodes.
func smaller(a config.Share, text string, of int) config.Share {
	if text == "" {
		return a
	}
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil {
		return a // the CRD forbids such a text
	}
	b := config.Share{Text: text, Percent: percent, Number: n}
	if a.Text != "" && hundredths(a, of) <= hundredths(b, of) {
		return a
	}
	return b
}

// hundredths is how much a share allows of a number of nodes, in hundredths of a
// node.
func hundredths(s config.Share, of int) int {
	if s.Percent {
		return s.Number * of
	}
	return s.Number * 100
}
