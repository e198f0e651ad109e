// Package workload writes down what becomes of pods on both sides of a change: as a part of
// a page for a terminal, of a comment, and of an HTML page.
//
// It decides nothing. Whoever uses it says how to write what comes from others.
package workload

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report/planjson"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Voice writes what comes from a configuration or a cluster amid words of ours.
type Voice func(string) string

// Most workloads without a node any more are named.
const Most = 20

// Title says how many pods were simulated, and what comes of it.
func Title(w plan.Workloads) string {
	verb := "get"
	if w.Asked() == 1 {
		verb = "gets"
	}
	return fmt.Sprintf("%s on a cluster without nodes %s %s, %s a month", diag.Counted(w.Asked(), "pod"), verb,
		counts(w.Before.Nodes, w.After.Nodes, "node"), money(w.Before, w.After))
}

// Lost says which pods get no node any more.
func Lost(l plan.Lost, v Voice) string {
	return fmt.Sprintf("no node any more for %s of %s", diag.Counted(l.Pods, "pod"), v(l.Workload))
}

// Reason says why a pool has no node for pods.
func Reason(r plan.PoolReason, v Voice) string {
	if r.Pool == "" {
		return v(r.Text)
	}
	return "pool " + v(r.Pool) + ": " + v(r.Text)
}

// unplaced says which pods have no node for another reason than the change, and which get
// one by it; "" where there are none.
func unplaced(w plan.Workloads) string {
	still := w.After.Unschedulable - w.LostPods()
	var parts []string
	if still > 0 {
		parts = append(parts, fmt.Sprintf("no node for %s before the change, and none after it", diag.Counted(still, "pod")))
	}
	if gained := w.Before.Unschedulable - still; gained > 0 {
		parts = append(parts, fmt.Sprintf("by the change there are nodes for %s that had none", diag.Counted(gained, "pod")))
	}
	return strings.Join(parts, "; ")
}

// more says how many workloads are not named; "" where there are none.
func more(w plan.Workloads, named int) string {
	if n := len(w.Lost) - named; n > 0 {
		return "and no node any more for pods of " + diag.Counted(n, "other workload")
	}
	return ""
}

// sides is a figure before and after; once where it is the same.
func sides(before, after string) string {
	if before == after {
		return after
	}
	return before + " → " + after
}

// counts is a number of things before and after: 1 → 2 nodes.
func counts(before, after int, noun string) string {
	if before == after {
		return diag.Counted(after, noun)
	}
	return fmt.Sprint(before, " → ", diag.Counted(after, noun))
}

func money(before, after plan.Placed) string {
	text := func(m catalog.Money) string { return "$" + planjson.Dollars(m) }
	return sides(text(before.Monthly), text(after.Monthly))
}
