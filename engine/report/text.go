package report

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// Text writes a plan for people: a paragraph for each object, a line for each
// field with what it does to nodes, what others changed, what guards say, and
// the sum last. Diagnostics are not in it; they are shown with their source.
func Text(w io.Writer, messages iter.Seq[Message], o Options) error {
	p := newPage(o)
	var drift drifts
	for m := range messages {
		if m, ok := m.(Drift); ok {
			drift.add(p, m.Drift)
			continue
		}
		drift.end(p)
		switch m := m.(type) {
		case Begin:
			if text := plainly.versus(m); text != "" {
				p.line(0, styled{text: text})
			}
		case Change:
			p.change(m.Change)
		case Migration:
			p.migration(m.Migration)
		case Verdict:
			if m.Status != plan.Passed {
				p.section("Guards")
				p.verdict(m.Verdict)
			}
		case Note:
			p.section("Not looked at")
			p.sentence(2, styled{text: plainly(m.Text)})
		case Summary:
			p.section("")
			p.summary(m)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

var signs = map[plan.Action]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Keep: "=", plan.Forget: "."}

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

// drifts are the fields of one object that others have set.
type drifts struct {
	addr string
	rows []row
}

// add takes one more field. They come by object.
func (d *drifts) add(p *page, field plan.Drift) {
	if addr := plainly(field.Addr); addr != d.addr {
		d.end(p)
		d.addr = addr
	}
	r := row{name: short(field.Path), words: "by " + plainly.list(field.Owners) + "; " + drifted(field)}
	r.before, r.after = sides(field.Path, field.Applied, field.Live)
	d.rows = append(d.rows, r)
}

// end writes the fields that there are.
func (d *drifts) end(p *page) {
	if len(d.rows) > 0 {
		p.section("Drift: set by others in the cluster, not by this change")
		p.line(2, styled{text: d.addr})
		p.table(6, d.rows)
	}
	*d = drifts{}
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
func (p *page) summary(s Summary) {
	if !s.Changed {
		p.line(0, styled{text: "No changes."})
	} else {
		p.sentence(0, styled{"Plan: " + counts(s) + ".", p.bold})
		p.sentence(0, styled{text: "Nodes: " + plainly.nodes(s) + "."})
		p.sentence(0, styled{text: bill(s)})
	}
	switch {
	case len(s.Refused) > 0:
		p.sentence(0, styled{"Refused by " + plainly.list(s.Refused) + ".", p.bad})
	case s.Passed > 0:
		p.sentence(0, styled{text: "Guards: " + fmt.Sprint(s.Passed) + " passed."})
	}
}

// nodes says which pools lose nodes.
func (v voice) nodes(s Summary) string {
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
