package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// textPage is text for a terminal.
type textPage struct {
	strings.Builder
	palette
	ascii bool // it has no other characters
	width int  // in columns; 0: no limit
	title string

	actions  map[plan.Action]string // their styles
	statuses map[plan.Status]string
}

func newText(o Options) *textPage {
	p := &textPage{ascii: o.ASCII, width: o.Width}
	if o.Color {
		p.palette = palette{
			Bold: "\x1b[1m", Dim: "\x1b[2m", Good: "\x1b[32m", Warn: "\x1b[33m", Grave: "\x1b[31m", Bad: "\x1b[1;31m",
		}
	}
	p.actions = map[plan.Action]string{plan.Create: p.Good, plan.Update: p.Warn, plan.Delete: p.Grave}
	p.statuses = map[plan.Status]string{
		plan.Blocked: p.Bad, plan.Allowed: p.Warn, plan.Unknown: p.Warn, plan.Changed: p.Warn, plan.Waiting: p.Warn,
	}
	return p
}

// effect returns the style of an effect.
func (p *textPage) effect(e plan.Effect) string {
	return map[string]string{"warn": p.Warn, "bad": p.Bad}[tones[e]]
}

// palette is the escape sequences that begin a style; all are empty where there is no
// color.
type palette struct{ Bold, Dim, Good, Warn, Grave, Bad string }

const reset = "\x1b[0m"

// styledText is a piece of a line. Its text is already escaped.
type styledText struct {
	Text  string
	Style string // the escape sequence that begins it; "" for none
}

// unstyled returns a piece without a style.
func unstyled(text string) styledText { return styledText{Text: text} }

// inStyle returns a piece in a style.
func inStyle(style, text string) styledText { return styledText{text, style} }

// Gap leaves a blank line, except at the start of the page.
func (p *textPage) Gap() {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
}

// Section starts a section with a title, unless it is the current one.
func (p *textPage) Section(title string) {
	if title != "" && title == p.title {
		return
	}
	p.Gap()
	p.title = title
	if title != "" {
		p.Line(0, styledText{title, p.Bold})
	}
}

// Line writes one line.
func (p *textPage) Line(indent int, pieces ...styledText) {
	p.WriteString(strings.Repeat(" ", indent))
	for _, piece := range pieces {
		text := diag.Harmless(p.Plain(piece.Text))
		if piece.Style != "" && text != "" {
			text = piece.Style + text + reset
		}
		p.WriteString(text)
	}
	p.WriteString("\n")
}

// Sentence writes text that is wrapped at the width of the page.
func (p *textPage) Sentence(indent int, s styledText) {
	limit := p.width - indent
	if p.width == 0 || columnsOf(p.Plain(s.Text)) <= limit {
		p.Line(indent, s)
		return
	}
	for i, text := range diag.Wrap(p.Plain(s.Text), max(20, limit-2)) {
		p.Line(indent+2*min(i, 1), styledText{text, s.Style})
	}
}

// Item writes a label and text next to it, which is wrapped below itself.
func (p *textPage) Item(indent int, label styledText, text string) {
	column := indent + columnsOf(label.Text) + 2
	lines := []string{p.Plain(text)}
	if p.width > 0 {
		lines = diag.Wrap(lines[0], max(20, p.width-column))
	}
	for i, line := range lines {
		if i == 0 {
			p.Line(indent, label, styledText{Text: "  " + line})
		} else {
			p.Line(column, styledText{Text: line})
		}
	}
}

// textRow is a line of a table: a name, its values before and after, an explanation, and a place.
type textRow struct {
	Name          string
	Before, After string // one is "" if there is no change
	Words, Style  string
	Place         string
}

// columns returns a row's cells, and how a line shows them.
func (p *textPage) columns(r textRow) (cells [4]styledText) {
	return [4]styledText{unstyled(p.Plain(r.Name)), unstyled(p.Plain(beforeAndAfter(r.Before, r.After))),
		inStyle(r.Style, p.Plain(r.Words)), inStyle(p.Dim, p.Plain(r.Place))}
}

// widest limits a column of a page without a width, so that one long cell does not move all others far to the right.
const widest = 60

// Table writes rows in columns. If they do not fit into the page, it omits places, and breaks rows that are still too
// long into lines. It never cuts a value.
func (p *textPage) Table(indent int, rows []textRow) {
	fits, widths := p.fitting(indent, rows)
	if slices.Contains(fits, false) {
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].Place = ""
		}
		fits, widths = p.fitting(indent, rows)
	}
	for i, r := range rows {
		if !fits[i] {
			p.broken(indent, r)
			continue
		}
		var pieces []styledText
		for i, cell := range p.columns(r) {
			pieces = append(pieces, cell)
			if widths[i] > 0 {
				pieces = append(pieces, unstyled(strings.Repeat(" ", max(0, min(widths[i], widest)-columnsOf(cell.Text))+2)))
			}
		}
		p.Line(indent, trimEnd(pieces)...)
	}
}

// fitting returns which rows fit into columns, the shortest first, and the widths of the columns.
func (p *textPage) fitting(indent int, rows []textRow) (fits []bool, widths [4]int) {
	cells, length, order := make([][4]styledText, len(rows)), make([]int, len(rows)), make([]int, len(rows))
	for i, r := range rows {
		cells[i], order[i] = p.columns(r), i
		for _, cell := range cells[i] {
			length[i] += columnsOf(cell.Text)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length[a], length[b]) })
	fits = make([]bool, len(rows))
	for _, i := range order {
		wider, total := widths, indent-2
		for column, cell := range cells[i] {
			wider[column] = max(wider[column], columnsOf(cell.Text))
			total += wider[column] + min(wider[column], 2)
		}
		if p.width > 0 && total > p.width {
			break
		}
		fits[i], widths = true, wider
	}
	return fits, widths
}

// broken writes a row on several lines.
func (p *textPage) broken(indent int, r textRow) {
	p.Line(indent, unstyled(p.Plain(r.Name)))
	value := beforeAndAfter(r.Before, r.After)
	if r.Before != "" && indent+2+columnsOf(p.Plain(value)) > p.width {
		p.value(indent+2, r.Before)
		value = "→ " + cmp.Or(r.After, "none")
	}
	if value != "" {
		p.value(indent+2, value)
	}
	if r.Words != "" {
		p.Sentence(indent+2, inStyle(r.Style, r.Words))
	}
}

// value writes a value as a sentence, unless that would take white space from it.
func (p *textPage) value(indent int, text string) {
	if strings.Join(strings.Fields(text), " ") != text {
		p.Line(indent, unstyled(text))
		return
	}
	p.Sentence(indent, unstyled(text))
}

// trimEnd leaves out white space at the end of a line.
func trimEnd(pieces []styledText) []styledText {
	for len(pieces) > 0 && strings.TrimSpace(pieces[len(pieces)-1].Text) == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// Plain returns text in the characters of the page.
func (p *textPage) Plain(text string) string {
	if !p.ascii {
		return text
	}
	text = strings.NewReplacer("→", "->", "…", "...").Replace(text)
	return diag.Escape(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// columnsOf returns how many columns text takes up.
func columnsOf(text string) int { return utf8.RuneCountInString(text) }

// beforeAndAfter joins the two sides of a change. A new value has only one.
func beforeAndAfter(before, after string) string {
	switch {
	case before == "":
		return after
	case after == "":
		return before + " → none"
	}
	return before + " → " + after
}
