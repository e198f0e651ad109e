package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// Text writes a plan for people: a paragraph for each object, a line for each
// field with what it does to nodes, what others changed, what guards say, and
// the sum last. Diagnostics are not in it; they are shown with their source.
func Text(w io.Writer, r Report, o Options) error {
	p := newPage(o)
	if text := plainly.versus(r); text != "" {
		p.sentence(0, styled{text: text})
	}
	for _, c := range r.Changes {
		p.change(c)
	}
	for _, m := range r.Migrations {
		p.migration(m)
	}
	p.drift(r.Drift)
	for _, v := range r.Verdicts {
		if v.Status != plan.Passed {
			p.section("Guards")
			p.verdict(v)
		}
	}
	for _, text := range r.Notes {
		p.section("Not checked")
		p.sentence(2, styled{text: plainly(text)})
	}
	p.section("")
	p.summary(r)
	_, err := io.WriteString(w, p.String())
	return err
}

var signs = map[plan.Action]string{
	plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Keep: "=", plan.Forget: ".",
}

// change writes the paragraph of an object.
func (p *page) change(c plan.Change) {
	p.gap()
	header := []styled{
		{signs[c.Action] + " ", p.actions[c.Action]}, {plainly(c.Addr), p.bold},
		{text: fmt.Sprintf("  (%s %s)", plainly(c.Kind), plainly(c.Name))},
	}
	if place := at(c.Source); place != "" {
		header = append(header, styled{"  " + place, p.dim})
	}
	p.line(0, header...)
	p.sentence(4, styled{plainly.headline(c), p.effects[c.Effect]})
	if text := plainly.consequence(c.Impact); text != "" {
		p.sentence(4, styled{text: text})
	}
	for _, text := range plainly.obstacles(c.Impact) {
		p.sentence(4, styled{text, p.warn})
	}
	for _, found := range c.Conflicts {
		p.sentence(4, styled{"CONFLICT: " + plainly.conflict(found), p.bad})
	}
	rows := make([]row, 0, len(c.Fields)+3)
	for _, f := range c.Fields {
		r := row{name: short(f.Path), words: effect(f), style: p.effects[f.Effect], place: at(f.Source)}
		r.before, r.after = sides(f.Path, f.Before, f.After)
		if c.Action == plan.Create {
			r.words = ""
		}
		rows = append(rows, r)
	}
	p.table(6, append(rows, costRows(c)...))
}

// costRows are the lines of a pool's cost in a month.
func costRows(c plan.Change) (rows []row) {
	if c.Current != nil {
		rows = append(rows, row{name: "now a month", after: dollars(*c.Current)})
	}
	if text := floors(c.Before, c.After); text != "" {
		rows = append(rows, row{name: "least a month", after: text})
	}
	if text := ceilings(c.Before, c.After); text != "" {
		rows = append(rows, row{name: "most a month", after: text})
	}
	return rows
}

// drift writes a table for each object of which others have set fields. They come
// sorted by object.
func (p *page) drift(fields []plan.Drift) {
	var rows []row
	for i, d := range fields {
		r := row{name: short(d.Path), words: "by " + plainly.list(d.Owners) + "; " + drifted(d)}
		r.before, r.after = sides(d.Path, d.Applied, d.Live)
		rows = append(rows, r)
		if i+1 < len(fields) && fields[i+1].Addr == d.Addr {
			continue
		}
		p.section("Drift: set by others in the cluster, not by this change")
		p.line(2, styled{text: plainly(d.Addr)})
		p.table(6, rows)
		if d.Detail != "" {
			p.sentence(6, styled{text: plainly(d.Detail)})
		}
		rows = nil
	}
}

// verdict writes what a guard says, with the numbers that it went by.
func (p *page) verdict(v plan.Verdict) {
	status := string(v.Status)
	if v.Status == plan.Blocked {
		status = "BLOCKED"
	}
	text := plainly.verdict(v)
	if place := at(v.Source); place != "" {
		text += " (" + place + ")"
	}
	p.item(2, styled{fmt.Sprintf("%-7s", status), p.statuses[v.Status]}, text)
}

// summary writes the sum.
func (p *page) summary(r Report) {
	if r.Empty() {
		p.line(0, styled{text: "No changes."})
	} else {
		p.sentence(0, styled{"Plan: " + counts(r.Summary()) + ".", p.bold})
		p.sentence(0, styled{text: "Nodes: " + plainly.nodes(r.Summary()) + "."})
		p.sentence(0, styled{text: bill(r)})
	}
	switch {
	case r.Refused():
		p.sentence(0, styled{"Refused by " + plainly.list(r.refusing()) + ".", p.bad})
	case r.passed() > 0:
		p.sentence(0, styled{text: fmt.Sprintf("Guards: %d passed.", r.passed())})
	}
}

// nodes says which pools lose nodes.
func (v voice) nodes(s plan.Summary) string {
	amount := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n, " ")
	}
	var parts []string
	if len(s.Deleted) > 0 {
		parts = append(parts, amount(s.NodesDeleted)+"deleted with "+v.list(s.Deleted))
	}
	if len(s.Rolled) > 0 {
		parts = append(parts, amount(s.NodesRolled)+"replaced in "+v.list(s.Rolled))
	}
	if len(parts) == 0 {
		return "none is replaced or deleted"
	}
	return strings.Join(parts, "; ")
}

// palette is the escape sequences that begin a style; all are empty where
// there is no color.
type palette struct {
	bold, dim, warn, bad string
	actions              map[plan.Action]string
	effects              map[plan.Effect]string
	statuses             map[plan.Status]string
}

const reset = "\x1b[0m"

func colors() palette {
	const red, green, yellow, boldRed = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m"
	return palette{
		bold: "\x1b[1m", dim: "\x1b[2m", warn: yellow, bad: boldRed,
		actions:  map[plan.Action]string{plan.Create: green, plan.Update: yellow, plan.Delete: red},
		effects:  map[plan.Effect]string{plan.Roll: yellow, plan.DeleteNodes: boldRed},
		statuses: map[plan.Status]string{plan.Blocked: boldRed, plan.Allowed: yellow, plan.Unknown: yellow},
	}
}
