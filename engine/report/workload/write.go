package workload

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/report/page"
)

// Text writes a section of a page for a terminal.
func Text(p *page.Page, w plan.Workloads, plainly Voice) {
	p.Section("Workloads")
	p.Sentence(2, page.Plainly(Title(w)))
	rows := make([]page.Row, 0, len(w.PlanTypes))
	for _, t := range w.PlanTypes {
		rows = append(rows, page.Row{
			Name: plainly(t.Pool + " " + t.Name), After: counts(t.Before.Nodes, t.After.Nodes, "node"),
			Words: counts(t.Before.Pods, t.After.Pods, "pod"), Place: money(t.Before, t.After) + " a month",
		})
	}
	p.Table(4, rows)
	for _, l := range w.Lost[:min(len(w.Lost), Most)] {
		p.Sentence(2, page.In(p.Bad, Lost(l, plainly)))
		for _, reason := range l.Reasons {
			p.Sentence(4, page.Plainly(Reason(reason, plainly)))
		}
	}
	for _, text := range append([]string{more(w, Most), unplaced(w)}, w.Notes...) {
		if text != "" {
			p.Sentence(2, page.Plainly(plainly(text)))
		}
	}
}

// Headline is the least that Markdown has to say.
func Headline(w plan.Workloads) string {
	text := fmt.Sprintf("\n**Workloads**: %s\n", Title(w))
	if n := w.LostPods(); n > 0 {
		text += fmt.Sprintf("\n🛑 No node any more for %s.\n", diag.Counted(n, "pod"))
	}
	return text
}

// Markdown is the same as a part of a comment. Few has only the first workloads named, and
// no plan types.
func Markdown(w plan.Workloads, code Voice, few bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n**Workloads**: %s\n", Title(w))
	named := Most
	if few {
		named = 3
	}
	items := []string{}
	for _, l := range w.Lost[:min(len(w.Lost), named)] {
		items = append(items, "- 🛑 "+Lost(l, code))
		for _, reason := range l.Reasons {
			items = append(items, "  - "+Reason(reason, code))
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

// View is what an HTML page shows, which its template escapes.
type View struct {
	Title   string
	Types   []Row
	Lost    []plan.Lost
	More    string
	Notes   []string
	Picture template.HTML // of the nodes
}

// Row is the nodes of a pool that are of one plan type.
type Row struct{ Pool, Name, Nodes, Pods, Money string }

// ViewOf is what a page shows; nil where no pods were simulated.
func ViewOf(w *plan.Workloads, picture template.HTML) *View {
	if w == nil {
		return nil
	}
	v := &View{
		Title: Title(*w), Types: rows(*w), Lost: w.Lost[:min(len(w.Lost), Most)], More: more(*w, Most), Picture: picture,
	}
	if text := unplaced(*w); text != "" {
		v.Notes = append(v.Notes, text)
	}
	v.Notes = append(v.Notes, w.Notes...)
	return v
}

func rows(w plan.Workloads) (list []Row) {
	for _, t := range w.PlanTypes {
		list = append(list, Row{
			t.Pool, t.Name, sides(fmt.Sprint(t.Before.Nodes), fmt.Sprint(t.After.Nodes)),
			sides(fmt.Sprint(t.Before.Pods), fmt.Sprint(t.After.Pods)), money(t.Before, t.After),
		})
	}
	return list
}
