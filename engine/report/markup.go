package report

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// MarkdownCode is a code span, in a table too.
func MarkdownCode(s string) string {
	s = diag.OneLine(s)
	fence := strings.Repeat("`", LongestRun(s, '`')+1)
	// A table ends a cell at a bar, even in code, unless a backslash is before it;
	// and two backslashes before it are none.
	s = strings.NewReplacer(`\|`, `\u005c\|`, `|`, `\|`).Replace(s)
	if s == "" || len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// HTMLEntities writes text for HTML within Markdown, without what either, or a bot,
// could take for something else.
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

// LongestRun is how often a character follows itself at most.
func LongestRun(s string, of rune) int {
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
