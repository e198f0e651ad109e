package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// mostLost is how many workloads with newly unschedulable pods are named.
const mostLost = 20

// workloadView is the content of a report about pods. Its names are escaped for the format.
type workloadView struct {
	Title string
	Types []workloadRow
	Lost  []lostView
	More  string   // counts the workloads that are not named; "" for none
	Notes []string // about other pods, then what was not simulated
}

// workloadRow is the nodes of a pool with one plan type.
type workloadRow struct {
	plan.PlanType
	Nodes, Pods, Money string
}

// lostView is the newly unschedulable pods of a workload.
type lostView struct {
	Workload string
	Pods     int
	Text     string
	Reasons  []string // for each pool
}

// workloadView builds the view of the pods of a report; nil if none are simulated. Named is how many workloads it
// names.
func (v escaper) workloadView(w *plan.Workloads, named int) *workloadView {
	if w == nil {
		return nil
	}
	verb := "get"
	if w.Pods == 1 {
		verb = "gets"
	}
	view := &workloadView{Title: fmt.Sprintf("%s in an empty cluster %s %s, %s a month", text.Count(w.Pods, "pod"), verb,
		workloadCounts(w.Before.Nodes, w.After.Nodes, "node"), workloadMoney(w.Before.Monthly, w.After.Monthly))}
	for _, t := range w.PlanTypes {
		view.Types = append(view.Types, workloadRow{
			t, bothSides(fmt.Sprint(t.Before.Nodes), fmt.Sprint(t.After.Nodes)),
			bothSides(fmt.Sprint(t.Before.Pods), fmt.Sprint(t.After.Pods)), workloadMoney(t.Before.Monthly, t.After.Monthly),
		})
	}
	for _, l := range w.Lost[:min(len(w.Lost), named)] {
		view.Lost = append(view.Lost, v.lost(l))
	}
	if n := len(w.Lost) - named; n > 0 {
		view.More = "and pods of " + text.Count(n, "other workload")
	}
	if sentence := countUnplaced(*w); sentence != "" {
		view.Notes = append(view.Notes, sentence)
	}
	view.Notes = append(view.Notes, v.costs(w.Costs)...)
	for _, sentence := range w.Notes {
		view.Notes = append(view.Notes, v(sentence))
	}
	return view
}

// mostShares is how many namespaces are named whose cost changes.
const mostShares = 10

// costs describes what the change costs each namespace or value of a label, the largest difference first.
func (v escaper) costs(shares []plan.CostShare) (lines []string) {
	difference := func(s plan.CostShare) plan.Amount { return s.After - s.Before }
	changed := slices.DeleteFunc(slices.Clone(shares), func(s plan.CostShare) bool { return difference(s) == 0 })
	slices.SortStableFunc(changed, func(a, b plan.CostShare) int {
		return cmp.Compare(max(difference(b), -difference(b)), max(difference(a), -difference(a)))
	})
	for i, s := range changed {
		by := strings.TrimPrefix(s.By, "label:")
		if i == mostShares {
			return append(lines, fmt.Sprintf("The cost of %s changes, too.", text.Count(len(changed)-i, "other "+by)))
		}
		amount, sign := difference(s), "more"
		if amount < 0 {
			amount, sign = -amount, "less"
		}
		lines = append(lines, fmt.Sprintf("%s %s costs %s %s a month: %s", v(by), v(s.Name), amount.Text(), sign,
			workloadMoney(s.Before, s.After)))
	}
	return lines
}

// lost describes newly unschedulable pods, with the reason of each pool.
func (v escaper) lost(l plan.Lost) lostView {
	view := lostView{
		Workload: v(l.Workload), Pods: l.Pods,
		Text: fmt.Sprintf("%s of %s newly unschedulable", text.Count(l.Pods, "pod"), v(l.Workload)),
	}
	for _, r := range l.Reasons {
		sentence := v(r.Text)
		if r.Pool != "" {
			sentence = "pool " + v(r.Pool) + ": " + sentence
		}
		view.Reasons = append(view.Reasons, sentence)
	}
	return view
}

// countUnplaced counts the pods that are unschedulable on both sides, and those that the change makes schedulable; ""
// if there are none.
func countUnplaced(w plan.Workloads) string {
	still := w.After.Unschedulable - w.LostPods()
	var parts []string
	if still > 0 {
		parts = append(parts, fmt.Sprintf("%s unschedulable before and after the change", text.Count(still, "pod")))
	}
	if gained := w.Before.Unschedulable - still; gained > 0 {
		parts = append(parts, fmt.Sprintf("the change makes %s schedulable", text.Count(gained, "pod")))
	}
	return strings.Join(parts, "; ")
}

// bothSides returns a figure before and after, or only one if they are the same.
func bothSides(before, after string) string {
	if before == after {
		return after
	}
	return before + " → " + after
}

// workloadCounts returns a number of things before and after: 1 → 2 nodes.
func workloadCounts(before, after int, noun string) string {
	if before == after {
		return text.Count(after, noun)
	}
	return fmt.Sprint(before, " → ", text.Count(after, noun))
}

func workloadMoney(before, after plan.Amount) string { return bothSides(before.Text(), after.Text()) }

// workloads writes a section about pods.
func (p *textPage) workloads(w *workloadView) {
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
			c.printf("\n🛑 %s newly unschedulable.\n", text.Count(n, "pod"))
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
	c.printf("\n| pool | plan type | nodes | pods | monthly cost |\n|---|---|--:|--:|--:|\n")
	for _, r := range w.Types {
		c.printf("| %s | %s | %s | %s | %s |\n", code(r.Pool), code(r.Name), r.Nodes, r.Pods, r.Money)
	}
	items = nil
	for _, sentence := range w.Notes {
		items = append(items, "- "+sentence)
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

// lostPods are findings: errors, unless a guard allows them.
func lostPods(r Report) (list []diag.Diagnostic) {
	if r.Workloads == nil {
		return nil
	}
	severity := "warning"
	judged := func(v plan.Verdict) bool { return v.Guard == plan.MaxUnschedulablePods }
	if !slices.ContainsFunc(r.Verdicts, judged) || slices.Contains(r.refusing(), plan.MaxUnschedulablePods) {
		severity = "error"
	}
	var place diag.Range
	isPool := func(c plan.Change) bool { return c.Kind == "NodePool" && !c.Source.IsZero() }
	if i := slices.IndexFunc(r.Changes, isPool); i >= 0 {
		place = r.Changes[i].Source
	}
	for _, l := range r.Workloads.Lost {
		view := plainText.lost(l)
		text := capitalize(view.Text)
		for _, reason := range view.Reasons {
			text += "; " + strings.TrimSuffix(reason, ".")
		}
		list = append(list, newFinding(severity, unschedulable, "Newly unschedulable pods", text+".", place, l.Workload))
	}
	return list
}
