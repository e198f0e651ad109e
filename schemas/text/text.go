// Package text writes what sentences and tables for people consist of: counts, lists, times, durations, and rows with
// aligned columns. Every package can use it, and it imports none of this project.
//
// It escapes nothing. Package config/diag has a Page for text with words of others.
package text

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Count writes a number of things: "1 node", "2 nodes". The plural takes an s, or es after an s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	plural := "s"
	if strings.HasSuffix(noun, "s") {
		plural = "es"
	}
	return fmt.Sprintf("%d %s%s", n, noun, plural)
}

// CountAre writes a number of things and the verb: "1 pod is", "2 pods are".
func CountAre(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// List joins names, of which it shows a number: "a, b and c", or "a, b and 3 more".
func List(names []string, shown int) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n == 1:
		return names[0]
	case n <= shown:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), n-shown)
	}
}

// Quoted joins names with commas, each as quote writes it.
func Quoted(names []string, quote func(string) string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quote(name)
	}
	return strings.Join(list, ", ")
}

// Time writes a time: 2026-11-29 15:04 UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// DayTime writes a time with the day of the week: Sun 2026-11-29 15:04 UTC.
func DayTime(t time.Time) string { return t.UTC().Format("Mon 2006-01-02 15:04 UTC") }

// SoonTime writes a time in the next months: Sun 29 Nov 15:04 UTC.
func SoonTime(t time.Time) string { return t.UTC().Format("Mon 2 Jan 15:04 UTC") }

// Duration writes a duration without units that are zero: 8h.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Age writes a duration in its largest unit, and in the next one if there are few of that: 1m4s, 28m, 1h30m, 3d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Minute:
		d = d.Truncate(time.Second)
	case d < 10*time.Hour:
		d = d.Truncate(time.Minute)
	case d < 48*time.Hour:
		d = d.Truncate(time.Hour)
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return Duration(d)
}

// Columns returns the rows of a table as lines with aligned columns, some of them at the right.
func Columns(rows [][]string, right ...int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			padding := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if slices.Contains(right, j) {
				cell, padding = padding+cell, ""
			}
			b.WriteString(cell + padding + "  ")
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}
