package report

import (
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/diag"
)

// textPage is text for a terminal.
type textPage struct {
	strings.Builder
	palette
	ascii bool
	width int // 0: as wide as it takes
	title string
}

// newTextPage returns an empty page of a width in columns, 0 for one as wide as it takes.
// With ascii it has no other characters.
func newTextPage(width int, color, ascii bool) *textPage {
	p := &textPage{ascii: ascii, width: width}
	if color {
		p.palette = palette{
			Bold: "\x1b[1m", Dim: "\x1b[2m", Good: "\x1b[32m", Warn: "\x1b[33m", Grave: "\x1b[31m", Bad: "\x1b[1;31m",
		}
	}
	return p
}

// palette is the escape sequences that begin a style; all are empty where there is no
// color.
type palette struct{ Bold, Dim, Good, Warn, Grave, Bad string }

const reset = "\x1b[0m"

// styledText is a piece of a line. What comes from others is harmless in it already.
type styledText struct {
	Text  string
	Style string // the escape sequence that begins it; "" for none
}

// unstyled is a piece without a style.
func unstyled(text string) styledText { return styledText{Text: text} }

// inStyle is a piece in a style.
func inStyle(style, text string) styledText { return styledText{text, style} }

// Gap leaves a line free, but not the first.
func (p *textPage) Gap() {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
}

// Section begins a part with a title, unless it has begun already.
func (p *textPage) Section(title string) {
	if title != "" && title == p.title {
		return
	}
	p.Gap()
	if p.title = title; title != "" {
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
	if p.width == 0 || width(p.Plain(s.Text)) <= limit {
		p.Line(indent, s)
		return
	}
	for i, text := range diag.Wrap(p.Plain(s.Text), max(20, limit-2)) {
		p.Line(indent+2*min(i, 1), styledText{text, s.Style})
	}
}

// Item writes a label and text next to it, which is wrapped below itself.
func (p *textPage) Item(indent int, label styledText, text string) {
	column := indent + width(label.Text) + 2
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

// textRow is a line of a table: what it is about, how that turns, what it means,
// and where it stands.
type textRow struct {
	Name          string
	Before, After string // one is "" where there is no change
	Words, Style  string
	Place         string
}

// turn is how a row's value turns, within a width.
func (p *textPage) turn(r textRow, limit int) string {
	text := p.Plain(turned(r.Before, r.After))
	if width(text) <= limit {
		return text
	}
	before, after := p.Plain(r.Before), p.Plain(r.After)
	if before == "" || after == "" {
		return p.cut(text, limit)
	}
	arrow := p.Plain(" → ")
	half := (limit - width(arrow)) / 2
	left := max(half, limit-width(arrow)-width(after))
	before = p.cut(before, left)
	return before + arrow + p.cut(after, limit-width(arrow)-width(before))
}

// widest keeps one long cell of a page without a width from moving all others
// far to the right.
const widest = 60

// Table writes rows in columns. What does not fit into the page is cut: the
// values first.
func (p *textPage) Table(indent int, rows []textRow) {
	const endless = 1 << 30
	limits := [4]int{endless, endless, endless, endless}
	columns := func(r textRow) [4]string {
		name, place := p.cut(p.Plain(r.Name), limits[0]), p.tail(p.Plain(r.Place), limits[3])
		return [4]string{name, p.turn(r, limits[1]), p.Plain(r.Words), place}
	}
	measure := func() (widths [4]int) {
		for _, r := range rows {
			for i, text := range columns(r) {
				widths[i] = max(widths[i], width(text))
			}
		}
		return widths
	}
	widths := measure()
	if p.width > 0 {
		for _, shrink := range []struct{ column, least int }{{1, 24}, {3, 20}, {0, 24}, {3, 8}, {1, 12}} {
			over := indent - p.width
			for _, w := range widths {
				over += w + min(w, 2)
			}
			if over -= 2; over > 0 {
				limits[shrink.column] = max(shrink.least, widths[shrink.column]-over)
				widths = measure()
			}
		}
	}
	for _, r := range rows {
		var pieces []styledText
		for i, text := range columns(r) {
			style := [4]string{"", "", r.Style, p.Dim}[i]
			pieces = append(pieces, styledText{text, style})
			if widths[i] > 0 {
				pieces = append(pieces, styledText{Text: strings.Repeat(" ", max(0, min(widths[i], widest)-width(text))+2)})
			}
		}
		p.Line(indent, trimmed(pieces)...)
	}
}

// trimmed leaves out white space at the end of a line.
func trimmed(pieces []styledText) []styledText {
	for len(pieces) > 0 && strings.TrimSpace(pieces[len(pieces)-1].Text) == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// Plain is text in the characters that the page has.
func (p *textPage) Plain(text string) string {
	if !p.ascii {
		return text
	}
	text = strings.NewReplacer("→", "->", "…", "...").Replace(text)
	return diag.Escape(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// cut shortens text to a width. It does not end within an escape such as
// \u001b, which would then say something else.
func (p *textPage) cut(text string, limit int) string {
	if width(text) <= limit {
		return text
	}
	end := p.Plain("…")
	kept := []rune(text)[:max(0, limit-width(end))]
	for i := len(kept) - 1; i >= max(0, len(kept)-10); i-- {
		if kept[i] == '\\' && len(kept)-i < escapeLength(kept[i:]) {
			kept = kept[:i]
		}
	}
	return string(kept) + end
}

// tail shortens text to a width and keeps its end: the line of a place.
func (p *textPage) tail(text string, limit int) string {
	begin := p.Plain("…")
	if over := width(text) - limit; over > 0 {
		return begin + string([]rune(text)[over+width(begin):])
	}
	return text
}

// escapeLength is how long an escape is that begins so.
func escapeLength(begin []rune) int {
	switch {
	case len(begin) < 2:
		return 2
	case begin[1] == 'u':
		return len(`\u001b`)
	case begin[1] == 'U':
		return len(`\U000e0001`)
	}
	return 2
}

// width is how many columns text takes up.
func width(text string) int { return utf8.RuneCountInString(text) }

// turned joins two sides of a change; a value that is new has one.
func turned(before, after string) string {
	switch {
	case before == "":
		return after
	case after == "":
		return before + " → none"
	}
	return before + " → " + after
}
