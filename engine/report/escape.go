package report

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// code is a code span of Markdown.
var code escaper = MarkdownCode

// inHTML is text within the HTML that Markdown can contain.
var inHTML escaper = func(s string) string { return "<code>" + HTMLEntities(s) + "</code>" }

// Marker escapes the parts of a target that could end an HTML comment. Different targets stay different.
func Marker(target string) string {
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

// FenceFor returns a fence of Markdown that the text cannot close.
func FenceFor(text string) string { return strings.Repeat("`", max(3, longestRun(text)+1)) }

// abridge returns the beginning of a long value, how much is missing, and where it is.
func abridge(s string) string {
	const longest = 2000 // characters
	if runes := []rune(s); len(runes) > longest {
		return fmt.Sprintf("%s… [cut after %d of %d characters; the text output of lkeplan diff has all]",
			string(runes[:longest]), longest, len(runes))
	}
	return s
}

// MarkdownCode returns a code span, in a table too.
func MarkdownCode(s string) string {
	s = diag.Harmless(diag.OneLine(s))
	fence := strings.Repeat("`", longestRun(s)+1)
	// A table ends a cell at a bar, even in code, unless a backslash is before it;
	// and two backslashes before it are none.
	s = strings.NewReplacer(`\|`, `\u005c\|`, `|`, `\|`).Replace(s)
	if s == "" || len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// HTMLEntities escapes text for HTML within Markdown, so that neither a renderer nor a bot interprets it.
func HTMLEntities(s string) string {
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

// longestRun returns the length of the longest run of backquotes.
func longestRun(s string) (longest int) {
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
