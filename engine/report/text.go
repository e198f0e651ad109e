package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Text writes a plan for people: a paragraph for each object, with a line for each field and its effect on nodes, then
// drift, guards and a summary. It has no diagnostics: commands print them with their source.
func Text(w io.Writer, r Report, o Options) error {
	p, v := newText(o), plainText.view(r, o.All, o.Path)
	if v.Versus != "" {
		p.Sentence(0, unstyled(v.Versus))
	}
	for _, e := range v.Entries {
		p.change(e)
	}
	p.drift(v.Drifted)
	for _, pool := range v.Pools {
		p.Section("In progress: nodes that are still draining, joining or being replaced")
		p.Sentence(2, unstyled(pool.Addr+": "+pool.Progress))
		for _, text := range pool.Obstacles {
			p.Sentence(4, inStyle(p.Warn, text))
		}
	}
	p.workloads(v.Pods)
	for _, g := range v.Guards {
		p.Section("Guards")
		p.guard(g)
	}
	for _, text := range v.Missing {
		p.Section("Not checked")
		p.Sentence(2, unstyled(text))
	}
	p.overview(r)
	p.Section("")
	p.summary(r, o)
	_, err := io.WriteString(w, p.String())
	return err
}

var signs = map[plan.Action]string{
	plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Keep: "=", plan.Forget: ".",
}

// change writes the paragraph of one object, or of several with the same change.
func (p *textPage) change(e entryView) {
	p.Gap()
	header := []styledText{inStyle(p.actions[e.Action], signs[e.Action]+" "), inStyle(p.Bold, e.Addr)}
	if !e.Outside { // its address is kind and name
		header = append(header, unstyled(fmt.Sprintf("  (%s %s)", plainText(e.Kind), plainText(e.Name))))
	}
	length := 2 + columnsOf(p.Plain(e.Place))
	for _, piece := range header {
		length += columnsOf(p.Plain(piece.Text))
	}
	switch {
	case e.Place == "":
		p.Line(0, header...)
	case p.width > 0 && length > p.width:
		p.Line(0, header...)
		p.Line(4, inStyle(p.Dim, e.Place))
	default:
		p.Line(0, append(header, inStyle(p.Dim, "  "+e.Place))...)
	}
	if e.Others != "" {
		p.Sentence(4, inStyle(p.Bold, e.Others))
	}
	p.Sentence(4, inStyle(p.effect(e.Effect), e.Headline))
	if e.Consequence != "" {
		p.Sentence(4, unstyled(e.Consequence))
	}
	for _, text := range e.Obstacles {
		p.Sentence(4, inStyle(p.Warn, text))
	}
	for _, text := range e.Conflicts {
		p.Sentence(4, inStyle(p.Bad, "CONFLICT: "+text))
	}
	rows := make([]textRow, 0, len(e.Fields)+3)
	for _, f := range e.Fields {
		rows = append(rows, textRow{f.Path, f.Before, f.After, f.Does, p.effect(f.Effect), f.Place})
	}
	p.Table(6, append(rows, e.Costs...))
}

// costRows returns the lines about a pool's monthly cost.
func costRows(c plan.Change) (rows []textRow) {
	if c.Current != nil {
		rows = append(rows, textRow{Name: "monthly cost now", After: c.Current.Text()})
	}
	if text := floorsText(c.Before, c.After); text != "" {
		rows = append(rows, textRow{Name: "monthly minimum", After: text})
	}
	if text := ceilingsText(c.Before, c.After); text != "" {
		rows = append(rows, textRow{Name: "monthly maximum", After: text})
		if c.After != nil && len(c.After.By) > 0 {
			rows = append(rows, textRow{Name: "  limited by", After: strings.Join(c.After.By, " and ")})
		}
	}
	if text := ceilingsWithoutLimits(c.Before, c.After); text != "" && text != ceilingsText(c.Before, c.After) {
		rows = append(rows, textRow{Name: "  without limits blocks", After: text})
	}
	return rows
}

// drift writes a table for each object with fields that others have set. The fields are sorted by object.
func (p *textPage) drift(fields []driftRow) {
	var rows []textRow
	for i, d := range fields {
		rows = append(rows, textRow{Name: d.Path, Before: d.Before, After: d.After, Words: "by " + d.By + "; " + d.Apply})
		if i+1 < len(fields) && fields[i+1].Drift.Addr == d.Drift.Addr {
			continue
		}
		p.Section("Drift: set by other owners in the cluster, not by this change")
		p.Line(2, unstyled(d.Addr))
		p.Table(6, rows)
		if d.Detail != "" {
			p.Sentence(6, unstyled(plainText(d.Detail)))
		}
		rows = nil
	}
}

// guard writes the verdict of a guard.
func (p *textPage) guard(g guardRow) {
	status := string(g.Status)
	switch g.Status {
	case plan.Blocked:
		status = "BLOCKED"
	case plan.Unknown:
		status = "not checked"
	}
	if g.Place != "" {
		g.Text += " (" + g.Place + ")"
	}
	p.Item(2, inStyle(p.statuses[g.Status], fmt.Sprintf("%-7s", status)), g.Text)
}

// overview lists several directories.
func (p *textPage) overview(r Report) {
	if !r.joined() {
		return
	}
	p.Section("Directories")
	var rows []textRow
	for _, d := range r.overview() {
		row := textRow{Name: plainText(d.Directory), After: d.Objects, Words: d.Nodes}
		if d.Status != "" {
			row.Words, row.Style = strings.TrimSuffix(d.Status+": "+d.Nodes, ": "), p.Bad
		}
		rows = append(rows, row)
	}
	p.Table(2, rows)
	for _, line := range []struct {
		says  string
		names []string
	}{{"no changes", r.unchanged()}, {"not affected by the change", r.Unreached}} {
		if len(line.names) > 0 {
			p.Sentence(2, unstyled(line.says+": "+plainText.list(line.names)))
		}
	}
}

// summary writes the last lines of a plan.
func (p *textPage) summary(r Report, o Options) {
	s := r.Summary()
	if n := r.failed(); n > 0 {
		p.Sentence(0, inStyle(p.Bad, fmt.Sprintf("No plan for %d of %d directories.", n, len(r.Parts))))
	}
	switch {
	case r.Empty() && r.Incomplete:
		p.Line(0, unstyled("No changes in the other directories."))
	case r.Empty() && r.Repriced:
		p.Line(0, unstyled("No object changes. "+repricedText))
	case r.Empty() && r.rulesChange():
		p.Sentence(0, unstyled("No object changes. Only these change, as shown above: "+strings.Join(r.judged(plan.Changed), ", ")+"."))
	case r.Empty():
		p.Line(0, unstyled("No changes."))
	default:
		p.Sentence(0, inStyle(p.Bold, "Plan: "+countActions(s)+"."))
		p.Sentence(0, unstyled("Nodes: "+plainText.nodes(s, o.All)+"."))
		if !s.NodesDeleted.Plus(s.Moved()).Known {
			p.Sentence(0, unstyled("Number of nodes: unknown without a cluster."))
		}
		p.Sentence(0, unstyled(writeBill(r, diag.Visible)))
	}
	if s.Conflicts > 0 {
		conflicts := text.Count(s.Conflicts, "field")
		p.Sentence(0, inStyle(p.Bad, "Conflicts: "+conflicts+" set by other owners; apply is refused."))
		if line := retakeCommand(r.Plan, o.Apply); line != "" {
			p.Line(0, unstyled("To overwrite the values of other owners: "+plainText(line)))
		}
	}
	switch {
	case r.Refused():
		p.Sentence(0, inStyle(p.Bad, "Refused by: "+plainText.list(r.refusing())+"."))
	case r.guarded() != "":
		p.Sentence(0, unstyled("Guards: "+r.guarded()+"."))
	}
}

// mostRolled is how many pools with replaced nodes the summary names.
const mostRolled = 12

// nodes lists the pools whose nodes are deleted, drained, replaced or may be removed. Without all, it names only the
// first pools whose nodes are replaced or may be removed.
func (v escaper) nodes(s plan.Summary, all bool) string {
	amount := func(n plan.Count) string {
		if !n.Known {
			return "" // the summary says after this that it is unknown
		}
		return fmt.Sprint(n.Nodes, " ")
	}
	var parts []string
	if len(s.Deleted) > 0 && s.NodesDeleted.Some() {
		parts = append(parts, amount(s.NodesDeleted)+"deleted with "+v.list(s.Deleted))
	}
	if len(s.Condemned) > 0 && s.NodesDrained.Some() {
		parts = append(parts, amount(s.NodesDrained)+"drained from "+v.list(s.Condemned))
	}
	several := func(what string, pools []string) {
		if n := len(pools); n > mostRolled && !all {
			parts = append(parts, fmt.Sprintf("%s in %d pools, %s and %d more", what, n, v.list(pools[:mostRolled]), n-mostRolled))
		} else if n > 0 {
			parts = append(parts, what+" in "+v.list(pools))
		}
	}
	if s.NodesRolled.Some() {
		several(amount(s.NodesRolled)+"replaced", s.Replaced())
	}
	most := "up to " + amount(s.NodesRemovable)
	if !s.NodesRemovable.Known {
		most = ""
	}
	if s.NodesRemovable.Some() {
		unseen := func(addr string) bool { return slices.Contains(s.Unseen, addr) }
		what := most + "may be removed"
		if s.Exact {
			what = amount(s.NodesRemovable) + "removed or replaced by Karpenter"
		}
		several(what, slices.DeleteFunc(slices.Clone(s.Removable), unseen))
		if len(s.Unseen) > 0 {
			parts = append(parts, "may be removed in unknown pools because of "+v.list(s.Unseen))
		}
	}
	if len(parts) == 0 {
		return "none replaced or deleted"
	}
	return strings.Join(parts, "; ")
}
