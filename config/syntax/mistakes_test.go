package syntax_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// TestMissingQuotesAreOneError: text without quotation marks, or with only one, is one error, which names the place and
// what to write.
func TestMissingQuotesAreOneError(t *testing.T) {
	for src, want := range map[string]string{
		"a = 10%\n":                          `A number with a unit is text. Write it in quotation marks: "10%".`,
		"a = 10%":                            `A number with a unit is text. Write it in quotation marks: "10%".`,
		"a = 15m\r\nb = 1\r\n":               `A number with a unit is text. Write it in quotation marks: "15m".`,
		"a = { cpu = 4, memory = 1.5Gi }\n":  `A number with a unit is text. Write it in quotation marks: "1.5Gi".`,
		"a = \"15m\nb = \"1\"\nc = \"x\"\n":  `The text has no closing quotation mark on this line.`,
		"a = 'b'\n":                          `Single quotes are not valid. Use double quotes (") to enclose strings.`,
		"a = %\n":                            `Expected the start of an expression, but found an invalid expression token.`,
		"é = 1\na = {\n  é = 10%\n}\n":       `Write it in quotation marks: "10%".`,
		"block {\n  a = 5 % 2 3\n}\n# 100%x": `An argument definition must end with a newline.`,
	} {
		_, diags := syntax.Parse("main.lke.hcl", []byte(src))
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%q: %v, want %q", src, diags, want)
			continue
		}
		at := diags[0].Subject
		if marked := src[at.Start.Byte:at.End.Byte]; strings.Contains(want, "unit") && !strings.Contains(want, `"`+marked+`"`) {
			t.Errorf("%q: %q is marked", src, marked)
		}
	}
}
