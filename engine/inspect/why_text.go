package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Text writes an answer for people, in lines of a width.
func (a Answer) Text(width int) string {
	var b strings.Builder
	write := func(indent int, text string) {
		for i, line := range diag.Wrap(diag.OneLine(text), max(width, 40)-indent-2) {
			hang := indent
			if i > 0 {
				hang += 2
			}
			b.WriteString(strings.Repeat(" ", hang) + line + "\n")
		}
	}
	write(0, a.Summary)
	for _, s := range a.Sections {
		fmt.Fprintf(&b, "\n%s:\n", s.About.title())
		for _, line := range s.Lines {
			write(2, line.String())
		}
	}
	if len(a.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range a.Notes {
		write(0, note)
	}
	return b.String()
}

// mostNamed pools are named on a line.
const mostNamed = 4

// String is the line with its pools.
func (l Line) String() string {
	switch n := len(l.Pools); {
	case n == 0:
		return l.Text
	case n == 1:
		return "pool " + l.Pools[0] + ": " + l.Text
	case n <= mostNamed:
		return "pools " + strings.Join(l.Pools, ", ") + ": " + l.Text
	}
	return fmt.Sprintf("pools %s and %d others: %s", strings.Join(l.Pools[:mostNamed-1], ", "), len(l.Pools)-mostNamed+1,
		l.Text)
}

// together puts lines with the same text into one, those of few pools first.
func together(lines []Line) (merged []Line) {
	for _, line := range lines {
		i := slices.IndexFunc(merged, func(m Line) bool { return m.Text == line.Text })
		if i < 0 {
			merged = append(merged, line)
			continue
		}
		merged[i].Pools = append(slices.Clone(merged[i].Pools), line.Pools...)
	}
	return merged
}

func (w *explainer) age(since time.Time) string { return Age(w.Now.Sub(since)) }
