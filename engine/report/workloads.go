package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// mostLost workloads without a node any more are named.
const mostLost = 20

// workloadView is what a report says of pods. Names in it are escaped for the format.
type workloadView struct {
	Title string
	Types []workloadRow
	Lost  []lostView
	More  string   // how many workloads are not named; "" for none
	Notes []string // of ours, then what was not simulated
}

// workloadRow is the nodes of a pool that are of one plan type.
type workloadRow struct {
	plan.PlanType
	Nodes, Pods, Money string
}

// lostView is pods of a workload that get no node any more.
type lostView struct {
	Workload string
	Pods     int
	Text     string
	Reasons  []string // for each pool
}

// workloadView is what a format says of the pods of a report; nil where none are simulated. Named is
// how many workloads it names.
func (v escaper) workloadView(w *plan.Workloads, named int) *workloadView {
	if w == nil {
		return nil
	}
	verb := "get"
	if w.Asked() == 1 {
		verb = "gets"
	}
	view := &workloadView{Title: fmt.Sprintf("%s on a cluster without nodes %s %s, %s a month", diag.Counted(w.Asked(), "pod"), verb,
		workloadCounts(w.Before.Nodes, w.After.Nodes, "node"), workloadMoney(w.Before, w.After))}
	for _, t := range w.PlanTypes {
		view.Types = append(view.Types, workloadRow{
			t, sides(fmt.Sprint(t.Before.Nodes), fmt.Sprint(t.After.Nodes)),
			sides(fmt.Sprint(t.Before.Pods), fmt.Sprint(t.After.Pods)), workloadMoney(t.Before, t.After),
		})
	}
	for _, l := range w.Lost[:min(len(w.Lost), named)] {
		view.Lost = append(view.Lost, v.lost(l))
	}
	if n := len(w.Lost) - named; n > 0 {
		view.More = "and no node any more for pods of " + diag.Counted(n, "other workload")
	}
	if text := unplaced(*w); text != "" {
		view.Notes = append(view.Notes, text)
	}
	for _, text := range w.Notes {
		view.Notes = append(view.Notes, v(text))
	}
	return view
}

// lost says which pods get no node any more, and why.
func (v escaper) lost(l plan.Lost) lostView {
	view := lostView{
		Workload: v(l.Workload), Pods: l.Pods,
		Text: fmt.Sprintf("no node any more for %s of %s", diag.Counted(l.Pods, "pod"), v(l.Workload)),
	}
	for _, r := range l.Reasons {
		text := v(r.Text)
		if r.Pool != "" {
			text = "pool " + v(r.Pool) + ": " + text
		}
		view.Reasons = append(view.Reasons, text)
	}
	return view
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
	return sides(before.Monthly.Text(), after.Monthly.Text())
}

// workloads writes a section about pods.
func (p *text) workloads(w *workloadView) {
	if w == nil {
		return
	}
	p.Section("Workloads")
	p.Sentence(2, unstyled(w.Title))
	var rows []textRow
	for _, t := range w.Types {
		rows = append(rows, textRow{
			Name: plainText(t.Pool + " " + t.Name), After: workloadCounts(t.Before.Nodes, t.After.Nodes, "node"),
			Words: workloadCounts(t.Before.Pods, t.After.Pods, "pod") + ", " + t.Money + " a month",
		})
	}
	p.Table(4, rows)
	for _, l := range w.Lost {
		p.Sentence(2, inStyle(p.Bad, l.Text))
		for _, reason := range l.Reasons {
			p.Sentence(4, unstyled(reason))
		}
	}
	if w.More != "" {
		p.Sentence(2, unstyled(w.More))
	}
	for _, text := range w.Notes {
		p.Sentence(2, unstyled(text))
	}
}

// workloads writes the same as Markdown.
func (c *comment) workloads() {
	if c.Workloads == nil {
		return
	}
	few, w := c.detail <= disruptiveRows, c.Pods
	if few {
		w = code.workloadView(c.Workloads, 3)
	}
	c.printf("\n**Workloads**: %s\n", w.Title)
	if c.detail == onlyNames {
		if n := c.Workloads.LostPods(); n > 0 {
			c.printf("\n🛑 No node any more for %s.\n", diag.Counted(n, "pod"))
		}
		return
	}
	var items []string
	for _, l := range w.Lost {
		items = append(items, "- 🛑 "+l.Text)
		for _, reason := range l.Reasons {
			items = append(items, "  - "+reason)
		}
	}
	if w.More != "" {
		items = append(items, "- "+w.More)
	}
	c.list(items)
	if few {
		return
	}
	c.printf("\n| pool | plan type | nodes | pods | a month |\n|---|---|--:|--:|--:|\n")
	for _, r := range w.Types {
		c.printf("| %s | %s | %s | %s | %s |\n", code(r.Pool), code(r.Name), r.Nodes, r.Pods, r.Money)
	}
	items = nil
	for _, text := range w.Notes {
		items = append(items, "- "+text)
	}
	c.list(items)
}

func (c *comment) list(items []string) {
	if len(items) > 0 {
		c.printf("\n%s\n", strings.Join(items, "\n"))
	}
}

// unschedulable is the rule of findings about pods; addr is their workload.
const unschedulable = "unschedulable-pods"

// lostPods are findings: errors, unless a guard lets it pass.
func lostPods(r Report) (list []finding) {
	if r.Workloads == nil {
		return nil
	}
	severity := "warning"
	judged := func(v plan.Verdict) bool { return v.Guard == plan.MaxUnschedulablePods }
	if !slices.ContainsFunc(r.Verdicts, judged) || slices.Contains(r.refusing(), plan.MaxUnschedulablePods) {
		severity = "error"
	}
	var place hcl.Range
	isPool := func(c plan.Change) bool { return c.Kind == "NodePool" && c.Source.Filename != "" }
	if i := slices.IndexFunc(r.Changes, isPool); i >= 0 {
		place = r.Changes[i].Source
	}
	for _, l := range r.Workloads.Lost {
		view := plainText.lost(l)
		text := capital(view.Text)
		for _, reason := range view.Reasons {
			text += "; " + strings.TrimSuffix(reason, ".")
		}
		list = append(list, found(severity, unschedulable, "Pods get no node any more", text+".", place, l.Workload))
	}
	return list
}
