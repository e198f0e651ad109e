package report

import (
	"fmt"
	"strings"
)

// code is a code span of Markdown.
var code voice = MarkdownCode

// inHTML is text amid the HTML that Markdown may hold.
var inHTML voice = func(s string) string { return "<code>" + HTMLEntities(s) + "</code>" }

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
func fenceFor(text string) string { return strings.Repeat("`", max(3, LongestRun(text, '`')+1)) }

// abridged is the beginning of a long value.
func abridged(s string) string {
	const longest = 2000 // characters
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return s
}
