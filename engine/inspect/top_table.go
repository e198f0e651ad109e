package inspect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/diag"
)

// table is rows of cells in columns that fit the width.
type table struct {
	columns []column
	rows    [][]cell
}

type column struct {
	title string
	right bool // aligned
	bar   bool // its cells are bars, which take the remaining width
	spare int  // the order in which it is left out if the width is small; 0: it is not left out
	words bool // it is shortened first, and after a word
	ends  bool // its end is kept when it is shortened: names of LKE's nodes differ there
	least int  // the least width to which it is shortened; 0: it is not shortened
}

// cell is text, or a bar.
type cell struct {
	text string
	use  Use
	ink  Ink
}

// The widths of bars, without their percents.
const (
	leastBar = 4
	mostBar  = 24
	percent  = 5
)

// draw draws the table, its heading first. One row can be chosen. Kubelets write some of its texts.
func (t table) draw(v ScreenView, chosen int) []string {
	for _, row := range t.rows {
		for i := range row {
			row[i].text = diag.Cell(row[i].text)
		}
	}
	t, widths := t.fit(v.Width)
	lines := []string{v.paint(InkFaint, t.heading(widths))}
	for i, row := range t.rows {
		if i == chosen { // one color for the whole line
			plain := v
			plain.Paint = nil
			lines = append(lines, v.paint(InkChosen, t.line(plain, row, widths)))
			continue
		}
		lines = append(lines, t.line(v, row, widths))
	}
	return lines
}

// fit returns the columns that fit, and their widths.
func (t table) fit(width int) (table, []int) {
	widths := t.natural()
	if width <= 0 {
		width = t.sum(widths, mostBar)
	}
	if t.sum(widths, leastBar) > width {
		t = t.without(func(c column) bool { return c.spare == 1 })
		widths = t.natural()
	}
	for next := 2; next <= mostSpare && t.least(widths) > width; next++ {
		t = t.without(func(c column) bool { return c.spare == next })
		widths = t.natural()
	}
	for _, words := range []bool{true, false} { // from left to right, until it fits
		for i, c := range t.columns {
			missing := t.sum(widths, leastBar) - width
			if missing > 0 && c.words == words && c.least > 0 && widths[i] > c.least {
				widths[i] = max(c.least, widths[i]-missing)
			}
		}
	}
	var bars []int
	for i, c := range t.columns {
		if c.bar {
			bars = append(bars, i)
		}
	}
	room := width - t.sum(widths, 0)
	for _, i := range bars {
		widths[i] = min(max(room/len(bars), leastBar), mostBar) + percent
	}
	return t, widths
}

// mostSpare is the highest order in which a column is left out.
const mostSpare = 6

// least is the width of the table with all columns as narrow as they can be.
func (t table) least(natural []int) int {
	widths := slices.Clone(natural)
	for i, c := range t.columns {
		if c.least > 0 {
			widths[i] = min(widths[i], c.least)
		}
	}
	return t.sum(widths, leastBar)
}

// natural are the widths of the widest cells; 0 for bars.
func (t table) natural() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		if c.bar {
			continue
		}
		widths[i] = length(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], length(row[i].text))
		}
	}
	return widths
}

// sum is the width of the table with bars of a width.
func (t table) sum(widths []int, bar int) (n int) {
	for i, c := range t.columns {
		if n += widths[i] + 1; c.bar {
			n += bar + percent
		}
	}
	return n - 1
}

func (t table) without(out func(column) bool) table {
	var kept table
	kept.rows = make([][]cell, len(t.rows))
	for i, c := range t.columns {
		if out(c) {
			continue
		}
		kept.columns = append(kept.columns, c)
		for j, row := range t.rows {
			kept.rows[j] = append(kept.rows[j], row[i])
		}
	}
	return kept
}

func (t table) heading(widths []int) string {
	cells := make([]string, len(t.columns))
	for i, c := range t.columns {
		cells[i] = pad(c.title, widths[i], c.right)
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

func (t table) line(v ScreenView, row []cell, widths []int) string {
	cells := make([]string, len(row))
	for i, c := range row {
		if t.columns[i].bar {
			cells[i] = v.bar(c.use, widths[i]-percent)
			continue
		}
		text := cut(c.text, widths[i])
		if t.columns[i].ends {
			text = end(c.text, widths[i])
		}
		if t.columns[i].words {
			text = firstWords(c.text, widths[i])
		}
		padding := strings.Repeat(" ", widths[i]-length(text))
		if cells[i] = v.paint(c.ink, text) + padding; t.columns[i].right {
			cells[i] = padding + v.paint(c.ink, text)
		}
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

func pad(text string, width int, right bool) string {
	padding := strings.Repeat(" ", max(0, width-length(text)))
	if right {
		return padding + text
	}
	return text + padding
}

// cut is a text on one line, shortened to a width in its middle: names differ at both ends.
func cut(text string, width int) string {
	text = diag.Cell(text)
	n := length(text)
	if n <= width || width <= 0 {
		return text
	}
	if width < 3 {
		return string([]rune(text)[:width])
	}
	runes, left := []rune(text), (width-1)/2
	return string(runes[:left]) + "…" + string(runes[n-(width-1-left):])
}

// end shortens a text to a width, at its beginning.
func end(text string, width int) string {
	n := length(text)
	if n <= width || width <= 0 {
		return text
	}
	return "…" + string([]rune(text)[n-width+1:])
}

// firstWords shortens a text to a width, after a word.
func firstWords(text string, width int) string {
	if length(text) <= width {
		return text
	}
	runes := []rune(text)[:width+1]
	if i := strings.LastIndexByte(string(runes), ' '); i > 0 {
		return string(runes)[:i]
	}
	return string(runes[:width])
}

func length(text string) int { return utf8.RuneCountInString(text) }
