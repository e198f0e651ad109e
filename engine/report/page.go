package report

import (
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/diag"
)

// page is text for a terminal: lines of styled pieces, wrapped sentences and
// tables.
type page struct {
	strings.Builder
	palette
	ascii bool
	width int // 0: as wide as it takes
	title string
}

func newPage(o Options) *page {
	p := &page{ascii: o.ASCII, width: o.Width}
	if o.Color {
		p.palette = colors()
	}
	return p
}

// styled is a piece of a line. What comes from others is harmless in it
// already.
type styled struct {
	text  string
	style string // the escape sequence that begins it; "" for none
}

// gap leaves a line free, but not the first.
func (p *page) gap() {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
}

// section begins a part with a title, unless it has begun already.
func (p *page) section(title string) {
	if title != "" && title == p.title {
		return
	}
	p.gap()
	if p.title = title; title != "" {
		p.line(0, styled{title, p.bold})
	}
}

// line writes one line.
func (p *page) line(indent int, pieces ...styled) {
	p.WriteString(strings.Repeat(" ", indent))
	for _, piece := range pieces {
		text := diag.Harmless(p.plain(piece.text))
		if piece.style != "" && text != "" {
			text = piece.style + text + reset
		}
		p.WriteString(text)
	}
	p.WriteString("\n")
}

// sentence writes text that is wrapped at the width of the page.
func (p *page) sentence(indent int, s styled) {
	limit := p.width - indent
	if p.width == 0 || width(p.plain(s.text)) <= limit {
		p.line(indent, s)
		return
	}
	for i, text := range diag.Wrap(p.plain(s.text), max(20, limit-2)) {
		p.line(indent+2*min(i, 1), styled{text, s.style})
	}
}

// item writes a label and text next to it, which is wrapped below itself.
func (p *page) item(indent int, label styled, text string) {
	column := indent + width(label.text) + 2
	lines := []string{p.plain(text)}
	if p.width > 0 {
		lines = diag.Wrap(lines[0], max(20, p.width-column))
	}
	for i, line := range lines {
		if i == 0 {
			p.line(indent, label, styled{text: "  " + line})
		} else {
			p.line(column, styled{text: line})
		}
	}
}

// row is a line of a table: what it is about, how that turns, what it means,
// and where it stands.
type row struct {
	name          string
	before, after string // one is "" where there is no change
	words, style  string
	place         string
}

// turn is how a row's value turns, within a width.
func (p *page) turn(r row, limit int) string {
	text := p.plain(turned(r.before, r.after))
	if width(text) <= limit {
		return text
	}
	before, after := p.plain(r.before), p.plain(r.after)
	if before == "" || after == "" {
		return p.cut(text, limit)
	}
	arrow := p.plain(" → ")
	half := (limit - width(arrow)) / 2
	left := max(half, limit-width(arrow)-width(after))
	before = p.cut(before, left)
	return before + arrow + p.cut(after, limit-width(arrow)-width(before))
}

// widest keeps one long cell of a page without a width from moving all others
// far to the right.
const widest = 60

// table writes rows in columns. What does not fit into the page is cut: the
// values first.
func (p *page) table(indent int, rows []row) {
	const endless = 1 << 30
	limits := [4]int{endless, endless, endless, endless}
	columns := func(r row) [4]string {
		name, place := p.cut(p.plain(r.name), limits[0]), p.tail(p.plain(r.place), limits[3])
		return [4]string{name, p.turn(r, limits[1]), p.plain(r.words), place}
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
		var pieces []styled
		for i, text := range columns(r) {
			style := [4]string{"", "", r.style, p.dim}[i]
			pieces = append(pieces, styled{text, style})
			if widths[i] > 0 {
				pieces = append(pieces, styled{text: strings.Repeat(" ", max(0, min(widths[i], widest)-width(text))+2)})
			}
		}
		p.line(indent, trimmed(pieces)...)
	}
}

// trimmed leaves out white space at the end of a line.
func trimmed(pieces []styled) []styled {
	for len(pieces) > 0 && strings.TrimSpace(pieces[len(pieces)-1].text) == "" {
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

// plain is text in the characters that the page has.
func (p *page) plain(text string) string {
	if !p.ascii {
		return text
	}
	text = strings.NewReplacer("→", "->", "…", "...").Replace(text)
	return diag.Escape(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// cut shortens text to a width. It does not end within an escape such as
// \u001b, which would then say something else.
func (p *page) cut(text string, limit int) string {
	if width(text) <= limit {
		return text
	}
	end := p.plain("…")
	kept := []rune(text)[:max(0, limit-width(end))]
	for i := len(kept) - 1; i >= max(0, len(kept)-10); i-- {
		if kept[i] == '\\' && len(kept)-i < escapeLength(kept[i:]) {
			kept = kept[:i]
		}
	}
	return string(kept) + end
}

// tail shortens text to a width and keeps its end: the line of a place.
func (p *page) tail(text string, limit int) string {
	begin := p.plain("…")
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
