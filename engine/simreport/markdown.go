// Package simreport writes the results of a simulation: as a comment for pull requests, as a part of an HTML
// report, and as the part of a plan that is about workloads.
//
// It decides nothing. Everyone who deploys pods chooses names of workloads, so names are escaped and never used as
// markup.
//
// It is separate from package report, which does not link the client of the Linode API that simulations need, and
// from package simulate, which links neither the configuration nor the HTML report.
package simreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const mostWorkloads = 50

// Markdown writes a simulation as the comment of a pull request.
func Markdown(r simulate.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Simulation of %s\n\n**%s**", report.MarkdownCode(r.Target), headline(r))
	if r.Before != nil && r.Base != "" {
		b.WriteString(", compared with " + report.MarkdownCode(r.Base))
	}
	b.WriteString("\n\n")
	writeTable(&b, r.Table(), 2)
	if rows := r.CostTable(); rows != nil {
		b.WriteString("\n")
		writeTable(&b, rows, 1)
		b.WriteString("\n" + costs.Legend + "\n")
	}
	if len(r.New) > 0 {
		b.WriteString("\nNewly unschedulable pods:\n\n")
		for _, s := range firstShown(r.New) {
			fmt.Fprintf(&b, "* %s: %s\n", report.MarkdownCode(s.Workload), countPods(s.Pods))
		}
		b.WriteString(andMore(len(r.New)))
	}
	writeRefused(&b, r.Head)
	for _, s := range r.Head.Shortfalls {
		fmt.Fprintf(&b, "\nPool %s gets %d of its %d nodes: %s\n", report.MarkdownCode(s.Pool), s.Made, s.Wanted,
			report.HTMLEntities(s.Text))
	}
	if text := diag.Visible(r.Afterwards()); text != "" {
		fence := report.FenceFor(text)
		fmt.Fprintf(&b, "\n<details><summary>Afterwards</summary>\n\n%s\n%s\n%s\n\n</details>\n", fence, text, fence)
	}
	if len(r.Head.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.Head.Notes {
		b.WriteString("* " + report.HTMLEntities(n) + "\n")
	}
	return b.String()
}

// headline summarizes a simulation in one line, without names that users have chosen.
func headline(r simulate.Report) string {
	text := fmt.Sprintf("%s on %s, %s a month", countPods(r.Head.Placed), countNodes(len(r.Head.Nodes)), monthlyDollars(r.Head.Total))
	if b := r.Before; b != nil && (len(b.Nodes) != len(r.Head.Nodes) || b.Total != r.Head.Total) {
		text += fmt.Sprintf(" (before: %s, %s)", countNodes(len(b.Nodes)), monthlyDollars(b.Total))
	}
	if r.Head.Refused > 0 {
		text += fmt.Sprintf("; %s unschedulable", countPods(r.Head.Refused))
	}
	newly := 0
	for _, s := range r.New {
		newly += s.Pods
	}
	if newly > 0 {
		text += fmt.Sprintf(", %d of them by this change", newly)
	}
	return text
}

// writeTable writes a table whose first columns are names. A table with two of them has a last row without names.
func writeTable(b *strings.Builder, rows [][]string, names int) {
	for i, row := range rows {
		cells := slices.Clone(row)
		for j := range cells {
			switch {
			case i > 0 && j < names && cells[j] != "" && (names == 1 || i < len(rows)-1):
				cells[j] = report.MarkdownCode(cells[j])
			default:
				cells[j] = strings.ReplaceAll(cells[j], " -> ", " → ")
			}
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", names) + strings.Repeat("--:|", len(row)-names) + "\n")
		}
	}
}

// writeRefused lists the pods without a node, folded.
func writeRefused(b *strings.Builder, r simulate.Result) {
	if r.Refused == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>Unschedulable: %d of %s</summary>\n\n", r.Refused, countPods(r.Asked))
	for _, f := range firstShown(r.Refusals) {
		fmt.Fprintf(b, "* %s: %s\n", report.MarkdownCode(f.Workload), countPods(f.Pods))
		for _, reason := range f.Shown() {
			pool := ""
			if reason.Pool != "" {
				pool = "pool " + report.MarkdownCode(reason.Pool) + ": "
			}
			fmt.Fprintf(b, "  * %s%s\n", pool, report.HTMLEntities(reason.Text))
		}
	}
	b.WriteString(andMore(len(r.Refusals)) + "\n</details>\n")
}

func firstShown[T any](list []T) []T { return list[:min(len(list), mostWorkloads)] }

func andMore(n int) string {
	if n <= mostWorkloads {
		return ""
	}
	return fmt.Sprintf("* and %d more\n", n-mostWorkloads)
}

func countPods(n int) string  { return text.Count(n, "pod") }
func countNodes(n int) string { return text.Count(n, "node") }

func monthlyDollars(c simulate.Cost) string { return c.Monthly.Text() }

// Workloads returns the simulation of both sides of a change as a part of the plan.
func Workloads(r simulate.Report) plan.Workloads {
	w := plan.Workloads{
		Pods: r.Head.Placed + r.Head.Refused, After: totalPlaced(r.Head), Before: totalPlaced(*r.Before), Notes: r.Head.Notes,
	}
	at := map[[2]string]int{}
	on := func(p simulate.Plan) *plan.PlanType {
		key := [2]string{p.Pool, p.Plan}
		if _, known := at[key]; !known {
			at[key] = len(w.PlanTypes)
			w.PlanTypes = append(w.PlanTypes, plan.PlanType{Pool: p.Pool, Name: p.Plan})
		}
		return &w.PlanTypes[at[key]]
	}
	for _, p := range r.Before.Plans {
		on(p).Before = placedPlan(p)
	}
	for _, p := range r.Head.Plans {
		on(p).After = placedPlan(p)
	}
	slices.SortStableFunc(w.PlanTypes, func(a, b plan.PlanType) int { return cmp.Compare(a.Pool, b.Pool) })
	w.Costs = costShares(r.Before.Costs, r.Head.Costs)
	for _, share := range r.New {
		w.Lost = append(w.Lost, plan.Lost{
			Workload: share.Workload, Pods: share.Pods, Reasons: reasonsOf(r.Head.Refusals, share.Workload),
		})
	}
	return w
}

// costShares returns what each namespace or value of a label pays before and after; none if one pays for all nodes.
func costShares(before, after *costs.Breakdown) (list []plan.CostShare) {
	if before == nil || after == nil {
		return nil
	}
	for _, s := range slices.Concat(after.Shares, before.Shares) {
		if i := slices.IndexFunc(list, func(c plan.CostShare) bool { return c.Name == s.Name }); i < 0 {
			list = append(list, plan.CostShare{By: after.By, Name: s.Name,
				Before: plan.Amount(before.Of(s.Name).Monthly), After: plan.Amount(after.Of(s.Name).Monthly)})
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

func totalPlaced(r simulate.Result) plan.Placed {
	return plan.Placed{Pods: r.Placed, Unschedulable: r.Refused, Nodes: len(r.Nodes), Monthly: plan.Amount(r.Total.Monthly),
		Buffers: r.Spare.Cost.Monthly, BuffersUnknown: r.Spare.Unknown}
}

func placedPlan(p simulate.Plan) plan.OnType {
	return plan.OnType{Pods: p.Pods, Nodes: p.Nodes, Monthly: plan.Amount(p.Cost.Monthly)}
}

// reasonsOf returns the distinct reasons why pods of a workload get no node.
func reasonsOf(refusals []simulate.Refusal, workload string) (reasons []plan.PoolReason) {
	for _, f := range refusals {
		if f.Workload != workload {
			continue
		}
		for _, r := range f.Shown() {
			if reason := (plan.PoolReason{Pool: r.Pool, Text: r.Text}); !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	return reasons
}
