package report

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// code is a code span of Markdown, in a table too: nothing in it is markup, a
// mention or a reference.
var code voice = func(s string) string {
	s = diag.OneLine(s)
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	// A table ends a cell at a bar, even in code, unless a backslash is before it;
	// and two backslashes before it are none.
	s = strings.NewReplacer(`\|`, `\u005c\|`, `|`, `\|`).Replace(s)
	if s == "" || len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// inHTML is text amid the HTML that Markdown may hold.
var inHTML voice = func(s string) string { return "<code>" + entities(s) + "</code>" }

// entities writes text for HTML within Markdown, without what either, or a bot,
// could take for something else.
func entities(s string) string {
	var b strings.Builder
	for _, r := range diag.OneLine(s) {
		if r < 0x80 && strings.ContainsRune("&<>\"'@#*_~`[]()\\!|:/$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// marker keeps of a target what cannot end an HTML comment, and writes the rest
// so that different targets stay different.
func marker(target string) string {
	var b strings.Builder
	for _, c := range []byte(target) {
		switch letter := c | 0x20; {
		case letter >= 'a' && letter <= 'z', c >= '0' && c <= '9', c == '/', c == '.', c == '_':
			b.WriteByte(c)
		case c == '-' && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// fenceFor is a fence that text cannot close.
func fenceFor(text string) string { return strings.Repeat("`", max(3, longestRun(text, '`')+1)) }

func longestRun(s string, of rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// abridged is the beginning of a long value.
func abridged(s string) string {
	const longest = 2000 // characters
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return s
}
