package report

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report/planjson"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A quoteFunc writes what comes from a configuration or a cluster amid words of ours.
type quoteFunc func(string) string

// mostLost workloads without a node any more are named.
const mostLost = 20

// workloadTitle says how many pods were simulated, and what comes of it.
func workloadTitle(w plan.Workloads) string {
	verb := "get"
	if w.Asked() == 1 {
		verb = "gets"
	}
	return fmt.Sprintf("%s on a cluster without nodes %s %s, %s a month", diag.Counted(w.Asked(), "pod"), verb,
		workloadCounts(w.Before.Nodes, w.After.Nodes, "node"), workloadMoney(w.Before, w.After))
}

// lostText says which pods get no node any more.
func lostText(l plan.Lost, v quoteFunc) string {
	return fmt.Sprintf("no node any more for %s of %s", diag.Counted(l.Pods, "pod"), v(l.Workload))
}

// reasonText says why a pool has no node for pods.
func reasonText(r plan.PoolReason, v quoteFunc) string {
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

// workloadCounts is a number of things before and after: 1 → 2 nodes.
func workloadCounts(before, after int, noun string) string {
	if before == after {
		return diag.Counted(after, noun)
	}
	return fmt.Sprint(before, " → ", diag.Counted(after, noun))
}

func workloadMoney(before, after plan.Placed) string {
	text := func(m catalog.Money) string { return "$" + planjson.Dollars(m) }
	return sides(text(before.Monthly), text(after.Monthly))
}
