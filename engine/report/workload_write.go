package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// workloadText writes a section of a page for a terminal.
func workloadText(p *textPage, w plan.Workloads, plainly quoteFunc) {
	p.Section("Workloads")
	p.Sentence(2, Plainly(workloadTitle(w)))
	rows := make([]textRow, 0, len(w.PlanTypes))
	for _, t := range w.PlanTypes {
		rows = append(rows, textRow{
			Name: plainly(t.Pool + " " + t.Name), After: workloadCounts(t.Before.Nodes, t.After.Nodes, "node"),
			Words: workloadCounts(t.Before.Pods, t.After.Pods, "pod"), Place: workloadMoney(t.Before, t.After) + " a month",
		})
	}
	p.Table(4, rows)
	for _, l := range w.Lost[:min(len(w.Lost), mostLost)] {
		p.Sentence(2, inStyle(p.Bad, lostText(l, plainly)))
		for _, reason := range l.Reasons {
			p.Sentence(4, Plainly(reasonText(reason, plainly)))
		}
	}
	for _, text := range append([]string{more(w, mostLost), unplaced(w)}, w.Notes...) {
		if text != "" {
			p.Sentence(2, Plainly(plainly(text)))
		}
	}
}

// workloadHeadline is the least that Markdown has to say.
func workloadHeadline(w plan.Workloads) string {
	text := fmt.Sprintf("\n**Workloads**: %s\n", workloadTitle(w))
	if n := w.LostPods(); n > 0 {
		text += fmt.Sprintf("\n🛑 No node any more for %s.\n", diag.Counted(n, "pod"))
	}
	return text
}

// workloadMarkdown is the same as a part of a comment. Few has only the first workloads named, and
// no plan types.
func workloadMarkdown(w plan.Workloads, code quoteFunc, few bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n**Workloads**: %s\n", workloadTitle(w))
	named := mostLost
	if few {
		named = 3
	}
	items := []string{}
	for _, l := range w.Lost[:min(len(w.Lost), named)] {
		items = append(items, "- 🛑 "+lostText(l, code))
		for _, reason := range l.Reasons {
			items = append(items, "  - "+reasonText(reason, code))
		}
	}
	if text := more(w, named); text != "" {
		items = append(items, "- "+text)
	}
	list(&b, items)
	if few {
		return b.String()
	}
	b.WriteString("\n| pool | plan type | nodes | pods | a month |\n|---|---|--:|--:|--:|\n")
	for _, r := range rows(w) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(r.Pool), code(r.Name), r.Nodes, r.Pods, r.Money)
	}
	items = nil
	if text := unplaced(w); text != "" {
		items = append(items, "- "+text)
	}
	for _, text := range w.Notes {
		items = append(items, "- "+code(text))
	}
	list(&b, items)
	return b.String()
}

func list(b *strings.Builder, items []string) {
	if len(items) > 0 {
		b.WriteString("\n" + strings.Join(items, "\n") + "\n")
	}
}

// workloadView is what an HTML page shows, which its template escapes.
type workloadView struct {
	Title   string
	Types   []workloadRow
	Lost    []plan.Lost
	More    string
	Notes   []string
	Picture template.HTML // of the nodes
}

// workloadRow is the nodes of a pool that are of one plan type.
type workloadRow struct{ Pool, Name, Nodes, Pods, Money string }

// workloadViewOf is what a page shows; nil where no pods were simulated.
func workloadViewOf(w *plan.Workloads, picture template.HTML) *workloadView {
	if w == nil {
		return nil
	}
	v := &workloadView{
		Title: workloadTitle(*w), Types: rows(*w), Lost: w.Lost[:min(len(w.Lost), mostLost)], More: more(*w, mostLost), Picture: picture,
	}
	if text := unplaced(*w); text != "" {
		v.Notes = append(v.Notes, text)
	}
	v.Notes = append(v.Notes, w.Notes...)
	return v
}

func rows(w plan.Workloads) (list []workloadRow) {
	for _, t := range w.PlanTypes {
		list = append(list, workloadRow{
			t.Pool, t.Name, sides(fmt.Sprint(t.Before.Nodes), fmt.Sprint(t.After.Nodes)),
			sides(fmt.Sprint(t.Before.Pods), fmt.Sprint(t.After.Pods)), workloadMoney(t.Before, t.After),
		})
	}
	return list
}
