package syntax

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
)

// withUnit matches a number with a unit, which is text.
var withUnit = regexp.MustCompile(`^[0-9][0-9.]*(?:%|[A-Za-z]+)$`)

// mistakes explains errors of the parser about missing quotation marks, and drops errors that only follow from another
// one.
func mistakes(src []byte, diags hcl.Diagnostics) (plain hcl.Diagnostics) {
	for _, d := range diags {
		if d.Subject == nil {
			plain = append(plain, d)
			continue
		}
		if d.Summary == "Invalid multi-line string" {
			d.Summary, d.Detail = "Missing quotation mark", "The text has no closing quotation mark on this line. For text of "+
				"several lines, write it between <<-EOT and EOT."
			return append(plain, d) // all that follows is read as text
		}
		if last := len(plain) - 1; d.Summary == "Invalid expression" && last >= 0 && plain[last].Subject != nil &&
			plain[last].Subject.Start.Line == d.Subject.Start.Line {
			continue
		}
		if word, at := wordAt(src, *d.Subject); withUnit.Match(word) {
			d.Summary, d.Detail = "Missing quotation marks", fmt.Sprintf("A number with a unit is text. Write it in quotation "+
				"marks: \"%s\".", word)
			d.Subject = &at
		}
		plain = append(plain, d)
	}
	return plain
}

// wordAt returns the word in ASCII that contains the start of a range or ends there, and its range.
func wordAt(src []byte, at hcl.Range) ([]byte, hcl.Range) {
	inside := func(b byte) bool {
		return b == '.' || b == '%' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	}
	start := min(at.Start.Byte, len(src))
	before := src[:start]
	word := len(before) - len(bytes.TrimRightFunc(before, func(r rune) bool { return r < 0x80 && inside(byte(r)) }))
	end := start
	for end < len(src) && inside(src[end]) {
		end++
	}
	at.End = at.Start
	at.Start.Byte, at.Start.Column = start-word, at.Start.Column-word
	at.End.Byte, at.End.Column = end, at.End.Column+end-start
	return src[start-word : end], at
}
